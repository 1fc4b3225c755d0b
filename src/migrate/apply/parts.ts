import { inTransaction } from "../../engine/batches.ts";
import type { Direction, Part } from "../../engine/part.ts";
import { MigrationError } from "../../lib/error.ts";
import { counted } from "../../lib/text.ts";
import type { PlanHeader, TargetIdentity } from "../../model/artefact.ts";
import type { State } from "../../model/change.ts";
import { differences } from "../../model/database.ts";
import type { Release, Target } from "../../model/ironic/target.ts";
import { IRONIC } from "../../model/journal.ts";
import { HOST_ROWS } from "../../model/nova/host-move.ts";
import {
  type NovaLegName,
  type NovaStep,
  type NovaTarget,
  novaName,
} from "../../model/nova/nova-plan.ts";
import { type PlannedMachine, type Step, stepsOf } from "../../model/plan.ts";
import type { Seal } from "../../model/secret.ts";
import { digestOnly } from "../../run/files/artefact-reader.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { SNAPSHOT } from "../../run/run.ts";
import type { RunSession } from "../../run/session.ts";
import type { NovaFiles } from "../hosts/nova-files.ts";
import type { AccessOptions, Backend } from "../open/backend.ts";

/** Machines in one batch: a transaction, or over REST, those that finish after Ctrl-C. */
export function batchOf({ engine }: Pick<TargetIdentity, "engine">): number {
  return engine === "rest" ? 64 : inTransaction();
}

export function ironicPart(target: Pick<Target, "identity" | "judge" | "perform">): Part<Step> {
  return {
    name: IRONIC,
    size: batchOf(target.identity),
    amount: ({ lines }) => `${counted(lines, "machine")}`,
    async inspect(steps) {
      const { found, skipped, waiting } = await target.judge(steps);
      const states = new Map<string, State>([
        ...steps.map(({ id }) => [id, { id, is: "before", reason: "" }] as const),
        ...found.map((id) => [id, { id, is: "after", reason: "" }] as const),
        ...waiting.map((row) => [row.id, { ...row, is: "waiting" }] as const),
        ...skipped.map((row) => [row.id, { ...row, is: "other" }] as const),
      ]);
      return [...states.values()];
    },
    async perform(steps, hooks) {
      let machines: ReadonlyMap<string, string> | undefined; // only REST needs it
      // By the UUID of its node in lower case, as Ironic writes it.
      const machineOf = (node: string): string => {
        machines ??= new Map(
          steps.flatMap(({ machine }) => (machine ? [[machine.toLowerCase(), machine]] : [])),
        );
        return machines.get(node) ?? node;
      };
      const ended = (node: string): boolean => hooks.ended(machineOf(node));
      const outcome = await target.perform(steps, { ...hooks, ended });
      const failed = outcome.failed?.map(({ machine, reason }) => ({
        ...{ machine: machineOf(machine), reason },
      }));
      return failed === undefined ? outcome : { ...outcome, failed };
    },
  };
}

export interface MachinePlan {
  readonly sha256: string;
  readonly lines: () => AsyncIterable<readonly PlannedMachine[]>;
}

export function ironicJournalled(target: Pick<TargetIdentity, "engine">, plan: MachinePlan) {
  return ironicLeg({ name: IRONIC, size: batchOf(target) }, plan);
}

export function ironicLeg<P>(part: P, { sha256, lines }: MachinePlan) {
  return {
    ...{ part, plan: sha256, lines, changesOf: stepsOf },
    machineOf: ({ uuid }: PlannedMachine) => uuid,
    brief: (line: PlannedMachine): PlannedMachine => ({ ...line, records: [] }),
  };
}

/** @throws MigrationError N2I-E300 with the differences */
export function checkIdentity(planned: TargetIdentity, found: TargetIdentity): void {
  const changed = differences(planned, found, ["alembic_head", "release"]);
  if (changed.length === 0) return;
  const text = `the plan was made for a different target: ${changed.join("; ")}`;
  const fix = `Specify the ${planned.engine === "rest" ? "service" : "--ironic-db"} of the plan with the same address (/etc/hosts may map its name to a different host), or run plan again for this target.`;
  throw new MigrationError("N2I-E300", text, { fix });
}

/** REST accepts fewer fields than a database plan has, and rows need more than a REST plan has. */
export function checkEngine({ engine }: TargetIdentity, { kind }: Pick<Backend, "kind">): void {
  if ((engine === "rest") === (kind === "rest")) return;
  const [planned, now] = engine === "rest" ? ["REST", "a database"] : ["a database", "REST"];
  throw new MigrationError("N2I-E300", `the plan was made for ${planned}, but ${now} is selected`, {
    fix: "Use the options of the plan, or run plan again for this backend.",
  });
}

/** @throws MigrationError N2I-E308 if this release cannot mark staged machines */
export function checkReasons({ doc, node }: Release): void {
  const text = `Ironic ${doc.release} does not store a maintenance reason`;
  if (!node.some(({ name }) => name === "maintenance_reason"))
    throw new MigrationError("N2I-E308", text);
}

/** Ironic, locked, with the checks around every batch. */
export interface LockedIronic {
  readonly target: Awaited<ReturnType<Backend["open"]>>["target"];
  readonly part: Part<Step>;
  readonly check: () => Promise<void>;
  readonly precondition: () => Promise<void>;
}

/** Opens a plan's target, checks that it is the planned one, and locks it during `work`. */
export async function withIronic<T>(
  run: RunFolder,
  session: RunSession,
  backend: Backend,
  how: AccessOptions & {
    readonly header: PlanHeader;
    readonly seal: Seal;
    /** The snapshot must be the one from which the plan was made. */
    readonly check: boolean;
  },
  work: (lockedIronic: LockedIronic) => Promise<T>,
): Promise<T> {
  const { header, seal, check, staged = false } = how;
  checkEngine(header.target, backend);
  const found = await backend.open(header.target.release, seal, how);
  checkIdentity(header.target, found.identity);
  if (staged) checkReasons(found.release);
  const { target } = found;
  const lock = await target.lock();
  try {
    await session.begin(IRONIC, found.identity, { staged });
    return await work({
      ...{ target, part: ironicPart(target), check: lock.check },
      async precondition() {
        checkIdentity(header.target, await backend.identify(header.target.release));
        const path = `${run.path}/${SNAPSHOT}`;
        const text = "the snapshot is not the one the plan was made from";
        if (check && (await digestOnly(path, "snapshot")) !== header.made_from.snapshot)
          throw new MigrationError("N2I-E300", text);
      },
    });
  } finally {
    await lock.release();
  }
}

/** Nova's rows, a part for each leg. @param flavors the flavor API. Null if flavors are in nova */
export function novaParts(
  nova: RowTarget & Pick<NovaTarget, "use">,
  flavors: RowTarget | null,
): { readonly [leg in NovaLegName]: Part<NovaStep> } {
  /** By host, the instances that an inspection without writes would have moved. */
  const going = new Map<string, number>();
  const use: NovaTarget["use"] = async (hosts) =>
    new Map(
      [...(await nova.use(hosts))].map(([host, { instances, computes }]) => [
        host,
        { instances: instances - (going.get(host) ?? 0), computes },
      ]),
    );
  const assume = (steps: readonly NovaStep[]): void => {
    for (const { table, before } of steps) {
      const host = String(before?.host);
      if (table === "instances") going.set(host, (going.get(host) ?? 0) + 1);
    }
  };
  const make = (leg: NovaLegName, target: RowTarget): Part<NovaStep> => ({
    ...rowsPart(target, novaName(leg)),
    ...{ waiting: (steps, direction) => waiting(steps, direction, use), assume },
  });
  const [hosts, shared] = [make("hosts", nova), make("shared", nova)];
  return { hosts, shared, flavors: make("flavors", nova), api: make("api", flavors ?? nova) };
}

/** The rows of a leg, as needed to read the journal. To change them, the caller replaces the part. */
export function novaJournalled(
  leg: NovaLegName,
  { steps, sha256 }: Pick<NovaFiles, "steps" | "sha256">,
) {
  return {
    part: { name: novaName(leg), size: inTransaction() },
    ...{ plan: sha256, lines: () => steps(leg) },
    changesOf: (step: NovaStep) => [step],
    machineOf: ({ machine }: NovaStep) => machine,
  };
}

/**
 * Steps that must wait for rows on their hosts, with the reason: a service for its machines, on the
 * way back an aggregate for its instances.
 */
async function waiting(
  steps: readonly NovaStep[],
  direction: Direction,
  use: NovaTarget["use"],
): Promise<ReadonlyMap<string, string>> {
  const table = direction === "forward" ? "services" : "aggregate_hosts";
  const relevant = steps.filter((step) => step.table === table);
  if (relevant.length === 0) return new Map();
  const found = await use(relevant.map(hostOf));
  return new Map(
    relevant.flatMap((step) => {
      const host = hostOf(step);
      const { instances = 0, computes = 0 } = found.get(host) ?? {};
      const uses = [
        ...(instances > 0 ? [counted(instances, "live instance")] : []),
        ...(computes > 0 && table === "services" ? [counted(computes, "compute node")] : []),
      ];
      return uses.length === 0 ? [] : [[step.id, `${host} has ${uses.join(" and ")}`]];
    }),
  );
}

function hostOf({ before, after }: NovaStep): string {
  return String((before ?? after)?.host ?? "");
}

type RowTarget = Pick<NovaTarget, "inspect" | "perform">;

/** Rows of Nova, as a leg or as machines with all their rows, in one transaction per batch. */
export function rowsPart({ inspect, perform }: RowTarget, name = HOST_ROWS): Part<NovaStep> {
  const amount: Part["amount"] = ({ done }) => `${counted(done, "row")} of nova`;
  return { name, size: inTransaction(), amount, inspect, perform };
}
