import { MigrationError } from "../../lib/error.ts";
import { counted, listed, NAMES } from "../../lib/text.ts";
import type { ManageRequest, ServerWishes } from "../../model/ironic/manage.ts";
import { nextCommand } from "../../run/next.ts";
import { io } from "../io.ts";
import { createEvents } from "../print/events.ts";
import { printView } from "../print/out.ts";
import {
  adoptableView,
  differencesView,
  managedView,
  sparesView,
  stepsView,
} from "../views/nodes.ts";
import { gatherSkipped } from "../views/skipped-rows.ts";
import { type ArgsOf, exitWith, type ListArgs, sinkOf } from "./shared.ts";

type Spares = typeof import("../../switchover/switchover-plan.ts");
type Adoptable = typeof import("../../manage/adoptable.ts");
type Switchover = typeof import("../../switchover/switchover.ts");
type Manage = typeof import("../../manage/manage.ts");

type NodeListArgs = ArgsOf<Spares["listSpares"]> &
  Parameters<Adoptable["listAdoptable"]>[0] & { readonly spares: boolean };
type UnmanageArgs = ManageArgs & { readonly machine: string };

interface SwitchoverArgs extends ListArgs, Omit<Parameters<Switchover["switchOver"]>[0], "source"> {
  readonly machine: string;
  readonly name?: string;
}

interface ManageArgs
  extends ListArgs,
    Omit<Parameters<Manage["manageMachines"]>[1], "inFlight" | "nova"> {
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

export const commands = {
  async "node list"(args: NodeListArgs): Promise<void> {
    if (args.spares) {
      const { listSpares } = await import("../../switchover/switchover-plan.ts");
      const short = await listSpares(args, sinkOf(args), (classes) =>
        printView(sparesView(classes, args.all), args),
      );
      if (short) exitWith("differs");
      return;
    }
    const { listAdoptable } = await import("../../manage/adoptable.ts");
    await listAdoptable(args, sinkOf(args), (rows) =>
      printView(adoptableView(rows, args.all), args),
    );
  },

  /** @param args `name`: the destination, as the second argument */
  async "node switchover"(args: SwitchoverArgs): Promise<void> {
    const sink = sinkOf(args);
    const { machine: source, destination = args.name } = args;
    const options = { ...args, source, ...(destination !== undefined && { destination }) };
    const { switchOver } = await import("../../switchover/switchover.ts");
    const shows: Parameters<typeof switchOver>[1] = {
      steps: (rows) => printView(stepsView(rows), args),
      async differences(rows) {
        if (rows.length > 0) await printView(differencesView(rows), args);
      },
    };
    const ended = await switchOver(options, shows, sink);
    if (!ended) {
      sink.note("Stopped. To resume, run the same command again. To undo it, run rollback.");
      exitWith("interrupted");
    } else if (!args.dryRun) sink.report(`Next: ${nextCommand("verify", args)}`);
  },

  async "node manage"(args: ManageArgs): Promise<void> {
    const sink = sinkOf(args);
    const { nova: _, ...rest } = args;
    const nova = novaOf(args);
    const { readMachines } = await import("../../manage/manage-file.ts");
    const all = args.from === undefined ? [manageRequestFrom(args)] : readMachines(args.from);
    const { IN_FLIGHT } = await import("../../manage/manage-back.ts");
    const { manageMachines } = await import("../../manage/manage.ts");
    const emit = createEvents(io().stderr);
    const { rows, stopped, broke, leftovers, inUse } = await manageMachines(
      all,
      { ...rest, inFlight: args.inFlight ?? IN_FLIGHT, ...(nova !== null && { nova }) },
      sink,
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
        sink.note(
          `Servers on these nodes may be in use: ${listed([...inUse], NAMES)}. Resolve the reason listed for each node, then run the same command again. Rollback would delete the servers.`,
        );
      if (remaining.length > 0)
        sink.note(
          `Not rolled back. Resolve the reason listed for each node, then run: ${nextCommand("rollback", args)} ${remaining.map((id) => `--node ${id}`).join(" ")}`,
        );
      return exitWith("halfway");
    }
    if (skipped.length === rows.length && !stopped)
      throw new MigrationError(
        "N2I-E370",
        skipped.length === 1
          ? `${skipped[0]?.node}: ${skipped[0]?.reason}`
          : `none of ${counted(skipped.length, "machine")} can be managed`,
      );
    if (!args.dryRun) sink.report(`Next: ${nextCommand("verify", args)}`);
    const marked = rows.filter(({ outcome }) => outcome === "in service");
    if (marked.length > 0)
      sink.note(
        `Run the same command again: it removes this run's mark from the nodes in service${skipped.length > 0 || stopped ? ", and retries the others" : ""}.`,
      );
    if (stopped) sink.note("Stopped. To resume, run the same command again.");
    if (skipped.length + marked.length > 0 || stopped) exitWith("partial");
  },

  async "node unmanage"(args: UnmanageArgs): Promise<void> {
    const skipped = gatherSkipped(args);
    const { managedBack } = await import("../../manage/manage-back.ts");
    const options = { ...args, all: false, node: [args.machine] };
    await managedBack(options).back(sinkOf(args), skipped.add);
    await printView(skipped.view(), args);
    if (skipped.any()) exitWith("differs");
  },

  /** It performs a switchover or lists spares. */
  async "node-switchover"(
    args: NodeListArgs &
      Omit<SwitchoverArgs, "machine" | "run"> & {
        readonly machine?: string;
        readonly run?: string;
      },
  ): Promise<void> {
    const { machine = "", run = "" } = args;
    if (args.spares) await commands["node list"](args);
    else await commands["node switchover"]({ ...args, machine, run });
  },

  adoptable: (args: NodeListArgs): Promise<void> =>
    commands["node list"]({ ...args, spares: false }),

  manage: (args: ManageArgs): Promise<void> => commands["node manage"](args),

  unmanage: (args: UnmanageArgs): Promise<void> => commands["node unmanage"](args),
};

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
