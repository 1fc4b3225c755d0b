import { structuredPatch } from "diff";
import type { Json } from "../../model/json.ts";
import type { FieldChange, PlannedMachine, PlannedRecord, Verdict } from "../../model/plan.ts";
import { leaves, showValue } from "./value.ts";

type Origins = readonly (readonly [string, string])[];

const HEADLINE: { readonly [change in PlannedRecord["change"]]: string } = {
  create: "will be created",
  none: "is there as planned",
  drift: "was changed since it was loaded; it is left alone",
  conflict: "is in conflict; nothing is written",
};

/** A machine is written whole or not at all: what stands beside a conflict or drift is not created. */
function headline(change: PlannedRecord["change"], verdict: Verdict): string {
  return change === "create" && verdict !== "create"
    ? "is not there; nothing of this machine is written"
    : HEADLINE[change];
}

/** `field = value` lines of a row as planned, and as it is in Ironic. */
function textOf(fields: readonly (readonly [string, Json])[]): string {
  return fields.map(([field, value]) => `${field} = ${showValue(value)}\n`).join("");
}

function asFound(
  fields: readonly (readonly [string, Json])[],
  differs: readonly FieldChange[],
): readonly (readonly [string, Json])[] {
  const found = new Map(differs.map((change) => [change.field, change.found]));
  const known = new Set(fields.map(([field]) => field));
  const kept = fields.map(
    ([field, value]) => [field, found.get(field) ?? (found.has(field) ? null : value)] as const,
  );
  const added = differs.filter(({ field }) => !known.has(field));
  return [...kept, ...added.map(({ field, found: value }) => [field, value] as const)];
}

/**
 * One record as a unified diff from what Ironic holds to what the plan wants, each planned value
 * with its origin. Fields left NULL are counted, not shown, unless asked for.
 */
function renderRecord(
  record: PlannedRecord,
  origins: Origins,
  { verdict, state }: PlannedMachine,
  all: boolean,
): readonly string[] {
  const from = new Map(record.origins.map((at) => origins[at] ?? ["", ""]));
  const fields = leaves(record.row);
  const shown = all ? fields : fields.filter(([field, value]) => value !== null || from.has(field));
  const planned = textOf(shown);
  const current = record.change === "create" ? "" : textOf(asFound(shown, record.differs ?? []));
  const patch = structuredPatch("", "", current, planned, "", "", { context: 0 });
  const lines = patch.hunks.flatMap(({ lines: changed }) =>
    changed.filter((line) => !line.startsWith("\\")).map((line) => annotate(line, from, state.row)),
  );
  const hidden = fields.length - shown.length;
  return [
    `# ${record.resource} ${String(record.row.uuid)} ${headline(record.change, verdict)}`,
    ...lines,
    ...(hidden > 0 ? [`  (${hidden} fields left NULL not shown; --all)`] : []),
    "",
  ];
}

/** Puts the origin behind a planned value, in a column of its own where the line is short. */
function annotate(line: string, from: ReadonlyMap<string, string>, state: string): string {
  const [sign, text] = [line.slice(0, 1), line.slice(1)];
  if (sign !== "+") return `${sign} ${text}`;
  const field = text.slice(0, text.indexOf(" = "));
  const origin = from.get(field) ?? from.get(field.split(".")[0] ?? "");
  // A column no rule could fill is NULL, and verify holds Ironic to that.
  if (origin === undefined) return `${sign} ${text.padEnd(58)}  <- nothing gives it`;
  const named = origin === "rule state" ? `rule state/${state}` : origin;
  return `${sign} ${text.padEnd(58)}  <- ${named}`;
}

/** One machine in full: why it is as it is, then each of its records. */
export function renderMachine(machine: PlannedMachine, origins: Origins, all: boolean): string {
  const { bm_node_id, uuid, state, verdict, reason, records, findings } = machine;
  return [
    `# machine ${uuid ?? "without uuid"} (bm_nodes.id=${bm_node_id}): ${verdict}, state ${state.row} -> ${state.outcome}${reason === null ? "" : `; ${reason}`}`,
    ...findings.map(
      ({ code, severity, place, message, accepted }) =>
        `# ${code} ${severity} ${place}: ${message}${accepted === undefined ? "" : ` (accepted: ${accepted})`}`,
    ),
    ...records.flatMap((record) => renderRecord(record, origins, machine, all)),
    "",
  ].join("\n");
}
