import type { RowVerdict } from "../../model/artefact.ts";
import { compareRow, type SameSecret } from "../../model/compare.ts";
import { isObject } from "../../model/json.ts";
import type { Row } from "../../model/machine.ts";
import type { FieldChange, PlannedMachine, PlannedRecord } from "../../model/plan.ts";
import type { Verifier } from "../../model/target.ts";

export interface Tally {
  validated: number;
  mismatched: number;
  missing: number;
  extra: number;
  suspended: number;
  /** Rows as planned but for fields a conductor changes by itself. */
  ironics_own: number;
  /** Machines the plan leaves out: skipped, blocked, in conflict. */
  left_out: number;
}

const BATCH = 500;

function row(
  record: { readonly resource: "node" | "port"; readonly uuid: string },
  machine: number | null,
  state: RowVerdict["state"],
  differs: readonly FieldChange[] = [],
  reason: string | null = null,
): RowVerdict {
  return { ...record, bm_node_id: machine, state, differs, reason };
}

/** Whether the plan wants the machine's rows to be in Ironic. */
export function isLoaded({ verdict }: PlannedMachine): boolean {
  return verdict === "create" || verdict === "unchanged" || verdict === "drift";
}

/**
 * Compares every row a plan wants with the row that is there, by the verifier's own queries, and
 * looks for rows that carry our mark and are in no plan. Streams: a verdict a row that is not as
 * planned, and, on request, one for every row.
 *
 * @param plan gives the plan's machines from the start, each time it is called
 * @param all give validated rows too
 */
export async function* verify(
  plan: () => AsyncIterable<readonly PlannedMachine[]>,
  target: Verifier,
  same: SameSecret,
  tally: Tally,
  all: boolean,
): AsyncGenerator<RowVerdict> {
  let present = 0;
  for await (const batch of regroup(plan())) {
    const loaded = batch.filter(isLoaded);
    tally.left_out += batch.length - loaded.length;
    const uuids = loaded.map(({ uuid }) => uuid?.toLowerCase() ?? "");
    const there = await target.rows(uuids);
    for (const node of there.nodes.values())
      if (isObject(node.extra) && node.extra.nova_bm !== undefined) present += 1;
    for (const machine of loaded) {
      for (const verdict of verifyMachine(machine, there, same, tally)) {
        tally[verdict.state] += 1;
        if (all || verdict.state !== "validated") yield verdict;
      }
    }
  }
  if ((await target.marked()) > present) yield* strangers(plan, target, tally);
}

async function* regroup(plan: AsyncIterable<readonly PlannedMachine[]>) {
  let held: PlannedMachine[] = [];
  for await (const lines of plan) {
    held = held.length === 0 ? [...lines] : held.concat(lines);
    while (held.length >= BATCH) yield held.splice(0, BATCH);
  }
  if (held.length > 0) yield held;
}

function* verifyMachine(
  { bm_node_id, records, uuid }: PlannedMachine,
  there: Awaited<ReturnType<Verifier["rows"]>>,
  same: SameSecret,
  tally: Tally,
): Generator<RowVerdict> {
  const node = uuid?.toLowerCase() ?? "";
  const ports = new Map((there.ports.get(node) ?? []).map((port) => [String(port.uuid), port]));
  for (const record of records) {
    const id = String(record.row.uuid);
    const found = record.resource === "node" ? there.nodes.get(id) : ports.get(id);
    ports.delete(id);
    yield judge(record, id, found, bm_node_id, there.unreadable.get(id), same, tally);
  }
  for (const id of ports.keys())
    yield row({ resource: "port", uuid: id }, bm_node_id, "extra", [], "a port no plan made");
}

function judge(
  record: PlannedRecord,
  uuid: string,
  found: Row | undefined,
  machine: number,
  unreadable: string | undefined,
  same: SameSecret,
  tally: Tally,
): RowVerdict {
  const named = { resource: record.resource, uuid };
  if (found === undefined) return row(named, machine, "missing", [], "no such row in Ironic");
  if (unreadable !== undefined) return row(named, machine, "suspended", [], unreadable);
  const { differs, own } = compareRow(record.row, found, same);
  if (own.length > 0) tally.ironics_own += 1;
  return differs.length === 0
    ? row(named, machine, "validated", own)
    : row(named, machine, "mismatched", differs);
}

/** Nodes with our mark that this plan does not want: another run's, or left from one. */
async function* strangers(
  plan: () => AsyncIterable<readonly PlannedMachine[]>,
  target: Verifier,
  tally: Tally,
): AsyncGenerator<RowVerdict> {
  const ours = new Set<string>();
  for await (const lines of plan())
    for (const machine of lines) if (isLoaded(machine)) ours.add(machine.uuid?.toLowerCase() ?? "");
  for await (const page of target.markedUuids())
    for (const uuid of page)
      if (!ours.has(uuid)) {
        tally.extra += 1;
        yield row(
          { resource: "node", uuid },
          null,
          "extra",
          [],
          "carries our mark, is not in this plan",
        );
      }
}

export function emptyTally(): Tally {
  return {
    validated: 0,
    mismatched: 0,
    missing: 0,
    extra: 0,
    suspended: 0,
    ironics_own: 0,
    left_out: 0,
  };
}

export function isEqual(tally: Tally): boolean {
  return tally.mismatched + tally.missing + tally.extra + tally.suspended === 0;
}
