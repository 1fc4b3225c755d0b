import { MigrationError } from "../../../lib/error.ts";
import { EXIT_STATUS } from "../../../lib/exit-status.ts";
import type { FormatOptions } from "../../../lib/table/format.ts";
import { counted, listed, NAMES } from "../../../lib/text.ts";
import { type ManageOptions, manageMachines } from "../../../manage/manage.ts";
import { IN_FLIGHT, managedBack } from "../../../manage/manage-back.ts";
import { readMachines } from "../../../manage/manage-file.ts";
import type { ManageRequest, ServerWishes } from "../../../model/ironic/manage.ts";
import { nextCommand } from "../../../run/next.ts";
import { io } from "../../io.ts";
import { createEvents } from "../../print/events.ts";
import { printView } from "../../print/out.ts";
import { managedView } from "../../views/nodes.ts";
import { gatherSkipped } from "../../views/skipped-rows.ts";
import { exitWith, note, printMessage, sinkOf, type Voice } from "../shared.ts";

interface ManageArgs
  extends Voice,
    Omit<FormatOptions, "allRows">,
    Omit<ManageOptions, "inFlight" | "nova"> {
  readonly machine?: string;
  readonly name?: string;
  readonly from?: string;
  readonly description?: string;
  readonly availabilityZone?: string;
  readonly property?: readonly string[];
  readonly nova: boolean;
  readonly flavor?: string;
  readonly port?: readonly string[];
  readonly image?: string;
  readonly acceptNetworkCut: boolean;
  readonly watch?: number;
  readonly inFlight?: number;
}

export async function manageCommand(args: ManageArgs): Promise<void> {
  const { nova: _, ...rest } = args;
  const nova = novaOf(args);
  const all = args.from === undefined ? [manageRequestFrom(args)] : readMachines(args.from);
  const emit = createEvents(io().stderr);
  const { rows, stopped, broke, leftovers, inUse } = await manageMachines(
    all,
    { ...rest, inFlight: args.inFlight ?? IN_FLIGHT, ...(nova !== null && { nova }) },
    sinkOf(args),
    (event) => {
      if (args.json) emit("item", { ...event });
    },
  );
  await printView(managedView(rows), args);
  if (broke !== null) throw broke;
  const skipped = rows.filter(({ outcome }) => outcome === "left");
  if (nova !== null && leftovers.size > 0) {
    const remaining = [...leftovers.keys()].filter((id) => !inUse.has(id));
    if (inUse.size > 0)
      note(
        args,
        `Servers on these nodes may be in use: ${listed([...inUse], NAMES)}. Resolve the reason listed for each node, then run the same command again. Rollback would delete the servers.`,
      );
    if (remaining.length > 0)
      note(
        args,
        `Not rolled back. Resolve the reason listed for each node, then run: ${nextCommand("rollback", args)} ${remaining.map((id) => `--node ${id}`).join(" ")}`,
      );
    return exitWith(EXIT_STATUS.halfway.status);
  }
  if (skipped.length === rows.length && !stopped)
    throw new MigrationError(
      "N2I-E370",
      skipped.length === 1
        ? `${skipped[0]?.node}: ${skipped[0]?.reason}`
        : `none of ${counted(skipped.length, "machine")} can be managed`,
    );
  if (!args.dryRun) printMessage(args, `Next: ${nextCommand("verify", args)}`);
  const marked = rows.filter(({ outcome }) => outcome === "in service");
  if (marked.length > 0)
    note(
      args,
      `Run the same command again: it removes this run's mark from the nodes in service${skipped.length > 0 || stopped ? ", and retries the others" : ""}.`,
    );
  if (stopped) note(args, "Stopped. To resume, run the same command again.");
  if (skipped.length + marked.length > 0 || stopped) exitWith(EXIT_STATUS.partial.status);
}

export async function unmanageCommand(
  args: ManageArgs & { readonly machine: string },
): Promise<void> {
  const skipped = gatherSkipped(args);
  await managedBack({ ...args, all: false, node: [args.machine] }).back(sinkOf(args), skipped.add);
  await printView(skipped.view(), args);
  if (skipped.any()) exitWith(EXIT_STATUS.differs.status);
}

/** The options for Nova; null if the records are Ironic allocations. */
function novaOf({ nova, flavor = "", port, image, acceptNetworkCut: cut, watch }: ManageArgs) {
  if (!nova) return null;
  const ports = port?.map((one) => one.toLowerCase()) ?? null;
  return { flavor, image: image ?? null, ports, cut, watch: watch ?? WATCH } satisfies ServerWishes;
}

/** Seconds: two power syncs of Ironic at its default interval. */
const WATCH = 120;

function manageRequestFrom({
  machine = "",
  name = "",
  description,
  availabilityZone,
  property = [],
}: ManageArgs): ManageRequest {
  const pairs = property.map((one) => {
    const at = one.indexOf("=");
    return [one.slice(0, at), one.slice(at + 1)] as const;
  });
  return {
    ...{ node: machine, name, description: description ?? null },
    ...{ availability_zone: availabilityZone ?? null, metadata: Object.fromEntries(pairs) },
  };
}
