import { isObject } from "../../../lib/json.ts";
import { prefetch, regroup } from "../../../lib/streams.ts";
import type { RowVerdict } from "../../../model/artefact.ts";
import { compareRow, type SameSecret } from "../../../model/compare.ts";
import { isStaged } from "../../../model/handover.ts";
import type { Verifier } from "../../../model/ironic/target.ts";
import type { Row } from "../../../model/machine.ts";
import {
  type FieldChange,
  isLoaded,
  type PlannedMachine,
  type PlannedRecord,
} from "../../../model/plan.ts";
import { isOldPowerError } from "../../../model/power.ts";
import { isByUse, isPortUsed, type Tally, type Used, useOf } from "./used.ts";

interface Strictness {
  readonly all: boolean;
  /** Nova manages the machines, so anything that hides one from it is a difference. */
  readonly settled?: boolean;
  /** Receives the machines that were used since the hand-over. */
  readonly used?: Used;
  /** Compares the machines of a batch elsewhere, after their rows are compared here. */
  readonly novaOf?: (batch: readonly PlannedMachine[]) => AsyncIterable<RowVerdict>;
}

/** Machines per query. At most two queries are open while a third batch is compared or parsed. */
const BATCH = 128;
/** Fewer machines if they have hundreds of ports each. */
const ROWS = { of: ({ records }: PlannedMachine) => records.length, most: 2000 };

function verdict(
  { resource, uuid, bm_node_id }: Pick<RowVerdict, "resource" | "uuid" | "bm_node_id">,
  state: RowVerdict["state"],
  differs: readonly FieldChange[] = [],
  reason: string | null = null,
): RowVerdict {
  return { resource, uuid, bm_node_id, state, differs, reason };
}

interface Comparing extends Strictness {
  readonly same: SameSecret;
  readonly tally: Tally;
}

/**
 * Compares every planned row with the current row, by the verifier's own queries, and finds rows
 * with our mark that are in no plan. Streams a verdict for each row with a difference, or for all.
 * @param plan each call iterates the plan's machines from the start
 */
export async function* verify(
  plan: () => AsyncIterable<readonly PlannedMachine[]>,
  target: Verifier,
  same: SameSecret,
  tally: Tally,
  how: Strictness,
): AsyncGenerator<RowVerdict> {
  let present = 0;
  for await (const { batch, loaded, pending } of prefetch(questions(plan(), target))) {
    const current = await pending;
    tally.left_out += batch.length - loaded.length;
    for (const node of current.nodes.values())
      if (isObject(node.extra) && node.extra.nova_bm !== undefined) present += 1;
    for (const machine of loaded) yield* verifyMachine(machine, current, { ...how, same, tally });
    if (how.novaOf !== undefined) yield* how.novaOf(batch);
  }
  if ((await target.marked()) > present) yield* foreignNodes(plan, target, tally);
}

type CurrentRows = Awaited<ReturnType<Verifier["rows"]>>;

/** The plan in batches, each with an open query of its current rows. */
async function* questions(plan: AsyncIterable<readonly PlannedMachine[]>, target: Verifier) {
  const open = new Set<Promise<CurrentRows>>();
  try {
    for await (const batch of regroup(plan, BATCH, ROWS)) {
      const loaded = batch.filter(isLoaded);
      const records = loaded.flatMap((machine) => machine.records);
      const rows = new Map(records.map(({ row }) => [String(row.uuid), row]));
      const uuids = loaded.map(({ uuid }) => uuid?.toLowerCase() ?? "");
      const pending = target.rows(uuids, (uuid) => rows.get(uuid));
      open.add(pending);
      const over = (): boolean => open.delete(pending);
      pending.then(over, over); // thrown when awaited
      yield { batch, loaded, pending };
    }
  } finally {
    await Promise.allSettled(open);
  }
}

/** Counts every row of a machine, its node first. @returns the verdicts to report */
function verifyMachine(
  { bm_node_id, records, uuid }: PlannedMachine,
  current: CurrentRows,
  how: Comparing,
): readonly RowVerdict[] {
  const verdicts: RowVerdict[] = [];
  const ports = current.ports.get(uuid?.toLowerCase() ?? "") ?? [];
  let matched = 0;
  const add = (one: RowVerdict): void => {
    how.tally[one.state] += 1;
    const fine = one.state === "validated" || one.state === "used";
    if (how.all || !fine) verdicts.push(one);
  };
  let used = false;
  for (const record of records) {
    const id = String(record.row.uuid);
    const subject = { resource: record.resource, uuid: id, bm_node_id };
    const found =
      record.resource === "node"
        ? current.nodes.get(id)
        : ports.find((port) => String(port.uuid) === id);
    if (record.resource === "port" && found !== undefined) matched += 1;
    const unreadable = current.unreadable.get(id);
    if (found === undefined) add(verdict(subject, "missing", [], "no such row in Ironic"));
    else if (unreadable !== undefined) add(verdict(subject, "suspended", [], unreadable));
    else {
      const judged = judge(record, found, bm_node_id, how, used);
      if (record.resource === "node" && (judged.state === "used" || judged.used === true)) {
        used = true;
        const { instance_uuid } = found;
        how.used?.set(id.toLowerCase(), typeof instance_uuid === "string" ? instance_uuid : null);
      }
      add(judged);
    }
  }
  if (matched === ports.length) return verdicts;
  const planned = new Set(records.map(({ row: { uuid: id } }) => String(id)));
  for (const { uuid: id } of ports)
    if (!planned.has(String(id))) {
      const subject = { resource: "port", uuid: String(id), bm_node_id } as const;
      add(verdict(subject, "extra", [], "a port that is in no plan"));
    }
  return verdicts;
}

/** @param ofUsed the machine was used since the hand-over */
function judge(
  { resource, row: planned }: PlannedRecord,
  found: Row,
  machine: number,
  { same, tally, settled = false }: Comparing,
  ofUsed: boolean,
): RowVerdict {
  const uuid = String(planned.uuid);
  const { differs: changed, allowed } = compareRow(planned, found, same);
  if (resource === "node" && found.automated_clean === false) tally.uncleaned.push(uuid);
  if (resource === "node" && isStaged(planned, found)) tally.staged += 1;
  else if (allowed.length > 0) tally.ironics_own += 1;
  const open = settled && resource === "node" ? unsettled(planned, found) : [];
  const subject = { resource, uuid, bm_node_id: machine };
  if (changed.length + open.length === 0) return verdict(subject, "validated", allowed);
  const fields = new Set(changed.map(({ field }) => field));
  const differs = [...changed, ...open.filter(({ field }) => !fields.has(field))];
  const use =
    resource === "node" ? useOf(planned, found, differs) : ofUsed && isPortUsed(differs) && "used";
  // An operator's change to a machine in use is a separate difference.
  const separate = differs.filter(({ field }) => resource === "node" && !isByUse(planned, field));
  if (use === "used" && separate.length === 0) return verdict(subject, use, differs);
  if (use === "used") return { ...verdict(subject, "mismatched", separate), used: true };
  if (separate.length > 0) return verdict(subject, "mismatched", differs);
  return { ...verdict(subject, "mismatched", differs), ...(use === "moving" && { moving: true }) };
}

/** Nodes with our mark that are not in this plan, from another run or left over. */
async function* foreignNodes(
  plan: () => AsyncIterable<readonly PlannedMachine[]>,
  target: Verifier,
  tally: Tally,
): AsyncGenerator<RowVerdict> {
  const ids = new Set<string>();
  for await (const lines of plan())
    for (const machine of lines) if (isLoaded(machine)) ids.add(machine.uuid?.toLowerCase() ?? "");
  for await (const page of target.markedUuids())
    for (const uuid of page)
      if (!ids.has(uuid)) {
        tally.extra += 1;
        const node = { resource: "node", uuid, bm_node_id: null } as const;
        yield verdict(node, "extra", [], "has the mark of this tool, but is not in this plan");
      }
}

/**
 * Values of a loaded node that hide it from Nova: maintenance of a staged load or of a conductor
 * that gave up, no power state, an error. Ironic may write them, so they are not differences from
 * the plan.
 * @source facts/rehearsal.md 3
 */
export function unsettled(planned: Row, found: Row): readonly FieldChange[] {
  const differs: FieldChange[] = [];
  const not = (field: string, expected: FieldChange["planned"]): void => {
    differs.push({ field, planned: expected, found: found[field] ?? null });
  };
  const inMaintenance = planned.maintenance === true;
  if (!inMaintenance && found.maintenance === true) not("maintenance", false);
  // No conductor reads the power of a node in maintenance.
  if (!inMaintenance && found.power_state === null) not("power_state", "a power state");
  const { last_error } = found;
  if (typeof last_error === "string" && last_error !== planned.last_error)
    if (!isOldPowerError(last_error, found.power_state))
      not("last_error", planned.last_error ?? null);
  return differs;
}
