import { BATCH } from "../../../lib/streams.ts";
import type { RowVerdict } from "../../../model/artefact.ts";
import type { NovaStep, RowState } from "../../../model/nova/nova-plan.ts";
import type { PlannedMachine } from "../../../model/plan.ts";
import type { Choice } from "../../hosts/rules/choice.ts";
import {
  auditHosts,
  type ComputeFault,
  createComputesAudit,
  type NovaNow,
} from "../../hosts/rules/computes.ts";
import { auditAllocations, auditInstances, heal } from "../../hosts/rules/current-placement.ts";
import { isMoving, isStepUsed, mayBeUsed, type NovaTally, type Used } from "./used.ts";

export interface Inspected {
  readonly step: NovaStep;
  readonly state: RowState;
}

/**
 * Compares every changed row of Nova, and the instance, hypervisor and resource provider of every
 * loaded machine, during the comparison of Ironic, so that the plan is read once.
 * @param options.all whether to return validated rows. `used` has the machines used since the load
 */
export function compareNova(
  { rows, ...now }: NovaNow & { readonly rows: AsyncIterable<readonly Inspected[]> },
  choice: Choice,
  tally: NovaTally,
  { all, used }: { readonly all: boolean; readonly used: Used },
) {
  const reported = new Set<string | null>();
  /** Rows whose result depends on their machine in Ironic. */
  const waiting = new Map<string | null, Inspected[]>();
  /** Compute nodes that the plan deletes. */
  const deletedIds = new Set<number>();
  let buffered: PlannedMachine[] = [];
  const computes = createComputesAudit(now, choice, tally, deletedIds);
  const wrong = (resource: string, { machine, fault, moving }: ComputeFault): RowVerdict => {
    tally.other += 1;
    const about = { resource, uuid: machine, bm_node_id: null };
    return { ...about, state: "mismatched", differs: [], reason: fault, ...(moving && { moving }) };
  };
  const judged = function* (one: Inspected): Generator<RowVerdict> {
    const verdict = rowVerdict(one, used, tally);
    if (verdict.state === "mismatched") reported.add(verdict.uuid);
    if (verdict.state === "mismatched" || all) yield verdict;
  };
  const compare = async function* (): AsyncGenerator<RowVerdict> {
    const batch = buffered;
    buffered = [];
    for (const { uuid } of batch) {
      for (const one of waiting.get(uuid) ?? []) yield* judged(one);
      waiting.delete(uuid);
    }
    for await (const found of auditInstances(asUsed(batch, used), now, choice, tally))
      if (!reported.has(found.machine)) yield wrong("instances", found);
    for await (const found of auditHosts(batch, now, choice))
      if (!reported.has(found.machine)) yield wrong("compute nodes", found);
    for await (const found of computes.faults(batch)) yield wrong("compute nodes", found);
    for await (const bare of auditAllocations(batch, now)) {
      const { machine, instance, resource_class } = bare;
      const fault = `instance ${instance} has no allocation. To create it: ${heal(machine, resource_class)}`;
      yield wrong("allocations", { machine, fault });
    }
  };
  return {
    /** Every row that the plan changes, except instances, which are compared with their machines. */
    async *rows(): AsyncGenerator<RowVerdict> {
      for await (const inspected of rows)
        for (const one of inspected) {
          const { table, key, after, machine } = one.step;
          if (table === "compute_nodes" && after?.deleted !== 0) deletedIds.add(Number(key.id));
          if (!mayBeUsed(one.step, one.state)) yield* judged(one);
          else waiting.set(machine, [...(waiting.get(machine) ?? []), one]);
        }
    },
    /** Call it after the machines' rows in Ironic are compared. */
    async *machines(batch: readonly PlannedMachine[]): AsyncGenerator<RowVerdict> {
      buffered.push(...batch);
      if (buffered.length >= BATCH) yield* compare();
    },
    async *end(): AsyncGenerator<RowVerdict> {
      if (buffered.length > 0) yield* compare();
      for (const rows of waiting.values()) for (const one of rows) yield* judged(one);
      for (const found of computes.end()) yield wrong("compute nodes", found);
    },
  };
}

function rowVerdict({ step, state }: Inspected, used: Used, tally: NovaTally): RowVerdict {
  const { is, reason, fields = [] } = state;
  const since = isStepUsed(step, state, used);
  tally[since ? "used" : is] += 1;
  const details = is === "before" ? "as before the change" : reason;
  return {
    ...{ resource: step.id, uuid: step.machine, bm_node_id: null },
    state: since ? "used" : is === "after" ? "validated" : "mismatched",
    ...{ differs: [], fields, reason: details === "" ? step.of : `${step.of}: ${details}` },
    ...(!since && isMoving(state) && { moving: true }),
  };
}

/** The plan's machines, with the current instance of those that were used since. */
function asUsed(batch: readonly PlannedMachine[], used: Used): readonly PlannedMachine[] {
  return batch.map((machine) => {
    const now = used.get(machine.uuid?.toLowerCase() ?? "");
    if (now === undefined) return machine;
    const records = machine.records.map((record) =>
      record.resource === "node"
        ? { ...record, row: { ...record.row, instance_uuid: now } }
        : record,
    );
    return { ...machine, records };
  });
}
