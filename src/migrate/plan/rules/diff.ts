import { structuredPatch } from "diff";
import type { Json } from "../../../lib/json.ts";
import { counted } from "../../../lib/text.ts";
import type { FieldChange, Origins, PlannedMachine, PlannedRecord } from "../../../model/plan.ts";
import { flatFields, showValue } from "./summary.ts";

type Fields = readonly (readonly [string, Json])[];

const HEADLINE: { readonly [change in PlannedRecord["change"]]: string } = {
  create: "will be created",
  none: "exists as planned",
  drift: "has changed since it was loaded, and is kept",
  conflict: "is in conflict, so nothing is written",
};

/** Differences between a record in Ironic and in the plan, with origins. */
export function diffOf(
  record: PlannedRecord,
  origins: Origins,
  { verdict, state }: PlannedMachine,
  all: boolean,
) {
  const from = new Map(record.origins.map((at) => origins[at] ?? ["", ""]));
  const originOf = (field: string) => {
    const origin = from.get(field) ?? from.get(field.split(".")[0] ?? "");
    return origin === "rule state" ? `rule state/${state.row}` : origin;
  };
  const fields = flatFields(record.row);
  const pairs = all ? fields : fields.filter(([field, value]) => value !== null || from.has(field));
  // A machine is written completely or not at all.
  const headline =
    record.change === "create" && verdict !== "create"
      ? "does not exist, and nothing of this machine is written"
      : HEADLINE[record.change];
  const changed =
    record.change === "create"
      ? // A new record needs no comparison.
        pairs.map(([field, value]) => `+${field} = ${showValue(value)}`)
      : changedLines(pairs, record.differs ?? []);
  return {
    title: `${record.resource} ${String(record.row.uuid)} ${headline}`,
    lines: changed.map((line) => annotate(line, originOf)),
    /** Number of hidden NULL fields. */
    hidden: fields.length - pairs.length,
  };
}

function changedLines(fields: Fields, differs: readonly FieldChange[]): readonly string[] {
  const found = differs.map((change) => [change.field, change.found] as const);
  const [current = "", planned = ""] = [[...new Map([...fields, ...found])], fields].map((some) =>
    some.map(([field, value]) => `${field} = ${showValue(value)}\n`).join(""),
  );
  const patch = structuredPatch("", "", current, planned, "", "", { context: 0 });
  return patch.hunks.flatMap(({ lines }) => lines.filter((line) => !line.startsWith("\\")));
}

/** A line of a diff, with the origin of a planned value. Null for any other line. */
function annotate(line: string, originOf: (field: string) => string | undefined) {
  const [sign, text] = [line.slice(0, 1), line.slice(1)];
  if (sign !== "+") return { sign, text, origin: null };
  const field = text.slice(0, text.indexOf(" = "));
  // A column without a rule is NULL, which verify also checks.
  return { sign, text, origin: originOf(field) ?? "no rule sets it" };
}

/** Aligns the origins of short lines. */
function renderRecord({ title, lines, hidden }: ReturnType<typeof diffOf>): readonly string[] {
  return [
    `# ${title}`,
    ...lines.map(({ sign, text, origin }) =>
      origin === null ? `${sign} ${text}` : `${sign} ${text.padEnd(58)}  <- ${origin}`,
    ),
    ...(hidden > 0 ? [`  (${counted(hidden, "field")} left NULL not shown; --all)`] : []),
    "",
  ];
}

/** The whole diff of one machine: the reason of its verdict, then each of its records. */
export function renderMachine(machine: PlannedMachine, origins: Origins, all: boolean): string {
  const { bm_node_id, uuid, state, verdict, reason, records, findings } = machine;
  return [
    `# machine ${uuid ?? "without uuid"} (bm_nodes.id=${bm_node_id}): ${verdict}, state ${state.row} -> ${state.outcome}${reason === null ? "" : `; ${reason}`}`,
    ...findings.map(
      ({ code, severity, place, message, accepted }) =>
        `# ${code} ${severity} ${place}: ${message}${accepted === undefined ? "" : ` (accepted: ${accepted})`}`,
    ),
    ...records.flatMap((record) => renderRecord(diffOf(record, origins, machine, all))),
    "",
  ].join("\n");
}
