import { isObject, textOrNull } from "../../../lib/json.ts";
import { compareRow, type SameSecret } from "../../../model/compare.ts";
import { blocks, type Finding, finding, merge } from "../../../model/findings.ts";
import type { Claims, Current } from "../../../model/ironic/target.ts";
import type { Machine, Row } from "../../../model/machine.ts";
import type {
  Desired,
  PlannedMachine,
  PlannedRecord,
  Resource,
  Verdict,
} from "../../../model/plan.ts";
import type { Transformed } from "../../transform/transform.ts";

export type Index = ReturnType<typeof indexCurrent>;

function by(rows: readonly Row[], column: string): ReadonlyMap<string, Row> {
  const entries = rows.map((row) => [textOrNull(row[column]), row] as const);
  return new Map(entries.flatMap(([key, row]) => (key === null ? [] : [[key, row]])));
}

export function indexCurrent({ nodes, ports }: Current) {
  return {
    node: by(nodes, "uuid"),
    instance: by(nodes, "instance_uuid"),
    name: by(nodes, "name"),
    port: by(ports, "uuid"),
    address: by(ports, "address"),
  };
}

/** All unique values that a batch of machines needs in Ironic. */
export function claimsOf(batch: readonly Pick<Transformed, "desired">[]): Claims {
  const rows = { node: [] as Row[], port: [] as Row[] };
  for (const { desired } of batch)
    for (const { resource, row } of desired) rows[resource].push(row);
  const texts = (resource: Resource, column: string) =>
    rows[resource].map((row) => row[column]).filter((value) => typeof value === "string");
  return {
    uuids: texts("node", "uuid"),
    instance_uuids: texts("node", "instance_uuid"),
    names: texts("node", "name"),
    port_uuids: texts("port", "uuid"),
    addresses: texts("port", "address"),
  };
}

/** Whether this tool loaded the row, because it has the same bm_nodes id. */
function isOwned(found: Row, planned: Row): boolean {
  const mark = (row: Row): unknown =>
    isObject(row.extra) && isObject(row.extra.nova_bm) ? row.extra.nova_bm.id : undefined;
  return mark(planned) !== undefined && mark(found) === mark(planned);
}

export function judge(
  desired: Desired,
  index: Index,
  same: SameSecret,
): { readonly record: PlannedRecord; readonly findings: readonly Finding[] } {
  const { row, resource, id } = desired;
  const existing = (resource === "node" ? index.node : index.port).get(String(row.uuid));
  const conflict = (code: "N2I-D500" | "N2I-D501" | "N2I-D502" | "N2I-D503", what: string) => ({
    record: { ...desired, change: "conflict" as const },
    findings: [finding(code, id, what)],
  });
  if (existing !== undefined) {
    if (resource === "node" && !isOwned(existing, row))
      return conflict("N2I-D500", "a node with this uuid exists, and this tool did not load it");
    if (resource === "port" && existing.node_uuid !== row.node_uuid)
      return conflict("N2I-D500", `the port belongs to node ${String(existing.node_uuid)}`);
    const { differs } = compareRow(row, existing, same);
    if (differs.length === 0) return { record: { ...desired, change: "none" }, findings: [] };
    const fields = differs.map(({ field }) => field).join(", ");
    return {
      record: { ...desired, change: "drift", differs },
      findings: [finding("N2I-D504", id, `differs in ${fields}`)],
    };
  }
  const taken = (map: ReadonlyMap<string, Row>, column: string) =>
    typeof row[column] === "string" ? map.get(String(row[column])) : undefined;
  const holder = resource === "port" ? taken(index.address, "address") : undefined;
  if (holder !== undefined)
    return conflict(
      "N2I-D501",
      `${String(row.address)} is on port ${String(holder.uuid)} of node ${String(holder.node_uuid)}`,
    );
  const isNode = resource === "node";
  const instance = isNode ? taken(index.instance, "instance_uuid") : undefined;
  if (instance !== undefined)
    return conflict(
      "N2I-D502",
      `instance ${String(row.instance_uuid)} is on node ${String(instance.uuid)}`,
    );
  const name = isNode ? taken(index.name, "name") : undefined;
  if (name !== undefined)
    return conflict("N2I-D503", `${JSON.stringify(row.name)} is node ${String(name.uuid)}`);
  // By name, because a spread takes three times as long, and most records are new.
  const { origins } = desired;
  return { record: { resource, id, row, origins, change: "create" }, findings: NONE };
}

const NONE: readonly Finding[] = [];

function verdictOf(records: readonly PlannedRecord[]): Verdict {
  let verdict: Verdict = "unchanged";
  for (const { change } of records) {
    if (change === "conflict") return "conflict";
    if (change === "drift") verdict = "drift";
    else if (change === "create" && verdict === "unchanged") verdict = "create";
  }
  return verdict;
}

export function planMachine(
  { node }: Machine,
  transformed: Transformed,
  index: Index,
  same: SameSecret,
): PlannedMachine {
  const { blocked, skipped, state, boot } = transformed;
  const judged = transformed.desired.map((desired) => judge(desired, index, same));
  const recordFindings = merge(judged.map((each) => each.findings));
  const findings = merge([transformed.findings, recordFindings]);
  const isExcluded = blocked || skipped !== null;
  const records = isExcluded ? [] : judged.map(({ record }) => record);
  const verdict = isExcluded ? (blocked ? "blocked" : "skipped") : verdictOf(records);
  const reason = blocked ? reasonOf(findings.filter(blocks)) : skipped;
  const line = {
    bm_node_id: node.id,
    uuid: node.uuid,
    service_host: node.service_host,
    state,
    findings,
    verdict,
    reason: isExcluded ? reason : recordFindings.length > 0 ? reasonOf(recordFindings) : null,
    records,
  };
  return isExcluded || boot === undefined ? line : { ...line, boot };
}

function reasonOf(findings: readonly Finding[]): string {
  return findings.map(({ code, message }) => `${code} ${message}`).join("; ");
}
