import type { Journalled } from "../../engine/back.ts";
import { inTransaction } from "../../engine/batches.ts";
import type { Part } from "../../engine/part.ts";
import { counted } from "../../lib/text.ts";
import type { TargetIdentity } from "../../model/artefact.ts";
import type { State } from "../../model/change.ts";
import type { Target } from "../../model/ironic/target.ts";
import { IRONIC } from "../../model/journal.ts";
import { type PlannedMachine, type Step, stepsOf } from "../../model/plan.ts";

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
      const states = new Map<string, State>(
        steps.map(({ id }) => [id, { id, is: "before", reason: "" }]),
      );
      for (const id of found) states.set(id, { id, is: "after", reason: "" });
      for (const { id, reason } of waiting) states.set(id, { id, is: "waiting", reason });
      for (const { id, reason } of skipped) states.set(id, { id, is: "other", reason });
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

/** The parts of a plan that are needed to read the journal, without Ironic. */
export function ironicJournalled(
  target: Pick<TargetIdentity, "engine">,
  plan: MachinePlan,
): Journalled<Step, PlannedMachine> {
  return ironicLeg({ name: IRONIC, size: batchOf(target) }, plan);
}

/** The machines of a plan as a leg. The caller adds the checks. */
export function ironicLeg<P>(part: P, { sha256, lines }: MachinePlan) {
  return {
    ...{ part, plan: sha256, lines, changesOf: stepsOf },
    machineOf: ({ uuid }: PlannedMachine) => uuid,
    brief: (line: PlannedMachine): PlannedMachine => ({ ...line, records: [] }),
  };
}
