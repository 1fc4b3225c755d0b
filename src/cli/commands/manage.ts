import { MigrationError } from "../../model/error.ts";
import { EXIT_STATUS } from "../../model/exit-status.ts";
import type { ManageAsked } from "../../model/manage.ts";
import { managedView } from "../../report/adoptable.ts";
import type { FormatOptions } from "../../report/format.ts";
import { gatherLeft } from "../../report/left.ts";
import { manageMachines } from "../../stages/manage.ts";
import type { ManageWords } from "../../stages/manage-asked.ts";
import { IN_FLIGHT, rollbackManaged } from "../../stages/manage-back.ts";
import { readMachines } from "../../stages/manage-file.ts";
import { nextCommand } from "../../stages/next.ts";
import { io } from "../io.ts";
import { createEvents } from "../print/events.ts";
import { printView } from "../print/out.ts";
import { exitWith, note, say, sinkOf, type Voice } from "./shared.ts";

interface ManageArgs extends Voice, Omit<FormatOptions, "allRows">, Omit<ManageWords, "inFlight"> {
  readonly machine?: string;
  readonly name?: string;
  readonly from?: string;
  readonly description?: string;
  readonly availabilityZone?: string;
  readonly property?: readonly string[];
  readonly nova: boolean;
  readonly flavor?: string;
  readonly port?: readonly string[];
  readonly noPreservePorts: boolean;
  readonly inFlight?: number;
}

export async function manageCommand(args: ManageArgs): Promise<void> {
  checkBuilt(args);
  const all = args.from === undefined ? [askedOf(args)] : manyOf(args, args.from);
  const emit = createEvents(io().stderr, Date.now);
  const { rows, stopped, broke } = await manageMachines(
    all,
    { ...args, inFlight: args.inFlight ?? IN_FLIGHT },
    sinkOf(args),
    (event) => {
      if (args.json) emit("item", { ...event });
    },
  );
  await printView(managedView(rows), args);
  if (broke !== null) throw broke;
  const left = rows.filter(({ became }) => became === "left");
  if (left.length === rows.length && !stopped)
    throw new MigrationError(
      "N2I-E370",
      left.length === 1
        ? `${left[0]?.node}: ${left[0]?.why}`
        : `none of ${left.length} machines can be managed`,
    );
  if (!args.dryRun) say(args, `Next: ${nextCommand("verify", args)}`);
  if (stopped) note(args, "Stopped: run the same command again to go on.");
  if (left.length > 0 || stopped) exitWith(EXIT_STATUS.partial.status);
}

export async function unmanageCommand(args: ManageArgs & { readonly yes: boolean }): Promise<void> {
  checkBuilt(args);
  const left = gatherLeft(args);
  const { machine = "" } = args;
  await rollbackManaged({ ...args, all: false, node: [machine] }, sinkOf(args), left.add);
  await printView(left.view(), args);
  if (left.any()) exitWith(EXIT_STATUS.differs.status);
}

/** @throws MigrationError N2I-E100 for what this release does not do */
function checkBuilt({ nova, flavor, port, noPreservePorts }: ManageArgs): void {
  const said = Object.entries({ nova, flavor, port, "no-preserve-ports": noPreservePorts })
    .filter(([, value]) => value !== undefined && value !== false)
    .map(([name]) => `--${name}`);
  if (said.length === 0) return;
  throw new MigrationError(
    "N2I-E100",
    noPreservePorts
      ? "--no-preserve-ports is not in this release: ports of Neutron are never deleted"
      : `${said.join(", ")}: records made in Nova are not in this release; without them the record is an allocation of Ironic`,
  );
}

/** @throws MigrationError N2I-E100 */
function askedOf({
  machine,
  name,
  description,
  availabilityZone,
  property = [],
}: ManageArgs): ManageAsked {
  if (machine === undefined || name === undefined)
    throw new MigrationError("N2I-E100", "node manage wants a node and a name, or --from FILE");
  const pairs = property.map((one) => {
    const at = one.indexOf("=");
    if (at < 1)
      throw new MigrationError(
        "N2I-E100",
        `--property takes KEY=VALUE, not ${JSON.stringify(one)}`,
      );
    return [one.slice(0, at), one.slice(at + 1)] as const;
  });
  return {
    ...{ node: machine, name, description: description ?? null },
    ...{ availability_zone: availabilityZone ?? null, metadata: Object.fromEntries(pairs) },
  };
}

/** @throws MigrationError N2I-E100, N2I-E103 */
function manyOf(
  { machine, description, availabilityZone, property }: ManageArgs,
  file: string,
): readonly ManageAsked[] {
  const one = [machine, description, availabilityZone, property].some((word) => word !== undefined);
  if (one)
    throw new MigrationError("N2I-E100", "--from has the machines, and all that is said of each");
  return readMachines(file);
}
