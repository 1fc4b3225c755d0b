import { isObject, type Json } from "../../../lib/json.ts";
import { counted } from "../../../lib/text.ts";
import type {
  PlanCounts,
  PlanHeader,
  SnapshotHeader,
  TargetIdentity,
} from "../../../model/artefact.ts";
import { FINDINGS, type Finding, type FindingCode } from "../../../model/findings.ts";
import type { Row } from "../../../model/machine.ts";
import type { NovaPlanCounts } from "../../../model/nova/nova-plan.ts";
import type { PlannedMachine, Verdict } from "../../../model/plan.ts";
import { isSealed, type Sealed } from "../../../model/secret.ts";

/** One sign for each verdict, as in other plan tools. The legend has only those in use. */
export const SIGNS: { readonly [verdict in Verdict]: readonly [string, string] } = {
  create: ["+", "to be loaded"],
  unchanged: ["=", "loaded already"],
  drift: ["~", "loaded before, then changed in Ironic or the source, and kept"],
  conflict: ["!", "in conflict with another row in Ironic"],
  blocked: ["!", "a finding prevents its migration"],
  skipped: ["-", "excluded"],
};

/** The database or service, as text for people. */
export function serverName(
  server: Pick<TargetIdentity, "engine" | "address" | "database">,
): string {
  const { engine, address, database } = server;
  return engine === "sqlite" || engine === "rest" ? address : `${database} @ ${address}`;
}

/** @param conductors the conductors for the machines */
export function renderHeader(header: PlanHeader, conductors: string): string {
  const { source, target, pairing } = header;
  return [
    `Source  ${serverName(source.nova_bm)} (${source.nova_bm.engine}, nova_bm ${source.nova_bm.schema_version}${source.nova === null ? ", nova not read" : `, nova ${source.nova.head ?? source.nova.schema_version}`})`,
    `Target  ${serverName(target)} (${target.engine}, ironic ${target.release}, ${target.engine === "rest" ? "microversion" : "alembic"} ${target.alembic_head})  ${counted(header.target_before.nodes, "node")}, ${counted(header.target_before.ports, "port")}`,
    `Pairing ${pairing.why}`,
    `Conductors ${conductors}`,
    "",
  ].join("\n");
}

export function renderLine(machine: PlannedMachine): string {
  const { verdict, uuid, bm_node_id, state, records, reason } = machine;
  const ports = records.filter(({ resource }) => resource === "port").length;
  const name = uuid ?? `bm_nodes.id=${bm_node_id}`;
  const blocking = acceptedOf(machine).filter(({ severity }) => severity === "blocks");
  const codes = [...new Set(blocking.map(({ code }) => code))].join(", ");
  const accepted = codes === "" ? "" : `  accepted ${codes}`;
  const detail = reason ?? `${state.outcome.padEnd(13)} ${counted(ports, "port")}${accepted}`;
  return `  ${SIGNS[verdict][0]} ${name.padEnd(36)}  ${verdict.padEnd(9)}  ${detail}`;
}

export function renderFinding({ code, severity, place, message, accepted }: Finding): string {
  return `  ${code} ${severity.padEnd(7)} ${place}: ${message}${accepted === undefined ? "" : ` (accepted: ${accepted})`}`;
}

/** Findings by code, the worst first, with their titles. */
export function renderFindingCounts(findings: PlanCounts["findings"]): readonly string[] {
  const rank = { blocks: 0, warning: 1, note: 2 };
  return Object.entries(findings)
    .map(([code, count]) => ({ code, count, kind: FINDINGS[code as FindingCode] }))
    .toSorted(
      (left, right) =>
        rank[left.kind.severity] - rank[right.kind.severity] || (left.code < right.code ? -1 : 1),
    )
    .map(
      ({ code, count, kind }) =>
        `  ${code} ${kind.severity.padEnd(7)} ${String(count).padStart(6)}  ${kind.title}`,
    );
}

/** Unknown columns, one line per table, with the number of machines that have a value. */
export function renderUnknown(
  columns: SnapshotHeader["unknown_columns"],
  machines: ReadonlyMap<string, number>,
): readonly string[] {
  return Object.entries(columns)
    .filter(([, names]) => names.length > 0)
    .map(([table, names]) => {
      const each = names.map((name) => `${name} ${machines.get(`${table}.${name}`) ?? 0}`);
      return `Columns of ${table} that no version of nova_bm has, with the number of machines that have a value there: ${each.join(", ")}.`;
    });
}

/** The plan's changes in nova. Scripts may read this line. */
export function renderNovaCounts({ hosts, flavors, api }: NovaPlanCounts): string {
  const apart = api === undefined ? "" : `; ${api} of flavors outside of it`;
  return `Nova: ${hosts} rows with a compute host to change; ${flavors} extra specs of flavors to change${apart}.`;
}

/** Scripts read this line, so its format is fixed. */
export function renderCounts({ nodes, ports, verdicts, machines }: PlanCounts): string {
  const { unchanged, drift, conflict, blocked, skipped } = verdicts;
  return (
    `Plan: ${nodes} nodes, ${ports} ports to add; ${unchanged} unchanged; ${drift} drifted; ` +
    `${conflict} in conflict; ${blocked} blocked; ${skipped} skipped; ${machines} machines in total.`
  );
}

export function acceptedOf({ findings }: Pick<PlannedMachine, "findings">): readonly Finding[] {
  return findings.filter(({ accepted }) => accepted !== undefined);
}

/** The cause of a verdict, the same text for all machines with this cause. */
export function causeOf({ verdict, state, reason, findings }: PlannedMachine): string {
  const open = findings.filter(
    ({ severity, accepted }) => severity === "blocks" && accepted === undefined,
  );
  const codes = [...new Set(open.map(({ code }) => code))];
  if (codes.length > 0) return codes.map((code) => `${code} ${FINDINGS[code].title}`).join("; ");
  return verdict === "skipped" ? (reason ?? "") : state.outcome;
}

/**
 * A secret for people: four hex digits that change with it. They are from its nonce, which also
 * depends on the machine, so they reveal neither equal passwords nor lengths.
 */
function mask({ secret }: Sealed): string {
  const digits = Buffer.from(secret.slice(0, 4), "base64").toString("hex", 0, 2);
  return digits === "" ? "(secret)" : `(secret ${digits})`;
}

/** A value on one line, with control characters escaped as in JSON. */
export function showValue(value: Json): string {
  if (isSealed(value)) return mask(value);
  return JSON.stringify(value).replaceAll(
    /[\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Masks every secret in a value, for machine-readable formats. */
export function masked(value: Json): Json {
  if (isSealed(value)) return mask(value);
  if (Array.isArray(value)) return value.map((item: Json) => masked(item));
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, masked(inner)]))
    : value;
}

/** The first columns of a record. Other plain columns follow, then the JSON columns. */
const FIRST = [
  ...["uuid", "name", "node_uuid", "address", "driver", "instance_uuid", "provision_state"],
];

function rank(column: string, value: Json): number {
  const at = FIRST.indexOf(column);
  return at >= 0 ? at : isObject(value) && !isSealed(value) ? FIRST.length + 1 : FIRST.length;
}

/** The fields of a row, most important first: `driver_info.ipmi_address` and its value. */
export function flatFields(row: Row): readonly (readonly [string, Json])[] {
  const flatten = (path: string, value: Json): readonly (readonly [string, Json])[] =>
    isObject(value) && !isSealed(value)
      ? Object.entries(value).flatMap(([key, inner]) => flatten(`${path}.${key}`, inner))
      : [[path, value] as const];
  return Object.entries(row)
    .toSorted(([left, one], [right, other]) => rank(left, one) - rank(right, other))
    .flatMap(([column, value]) => flatten(column, value));
}
