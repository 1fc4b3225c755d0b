import type { Ajv2020, AnySchemaObject } from "ajv/dist/2020.js";
import { MigrationError } from "../../model/error.ts";
import type {
  Drivers,
  Mapping,
  Rule,
  Rules,
  Site,
  States,
  TargetDoc,
} from "../../model/mapping.ts";
import type { Column } from "../../model/tables.ts";
import { checkDocument } from "./schemas.ts";

/** Documents and schemas as read from disk, unchecked. */
export interface Documents {
  readonly rules: unknown;
  readonly drivers: unknown;
  readonly states: unknown;
  readonly targets: readonly { readonly name: string; readonly document: unknown }[];
  readonly schemas: { readonly [name: string]: AnySchemaObject };
}

/** The mapping documents of this package, checked; a release and a site make a Mapping of them. */
export interface Checked {
  readonly rules: Rules;
  readonly drivers: Drivers;
  readonly states: States;
  readonly targets: readonly TargetDoc[];
}

/**
 * Checks every mapping document against its schema and against each other.
 *
 * @throws MigrationError N2I-E103 naming file and path of every fault
 */
export function checkDocuments(ajv: Ajv2020, documents: Documents): Checked {
  const validator = (name: string) => ajv.compile(documents.schemas[name] ?? {});
  checkDocument(validator("rules"), documents.rules, "mappings/rules.json");
  checkDocument(validator("drivers"), documents.drivers, "mappings/drivers.json");
  checkDocument(validator("states"), documents.states, "mappings/states.json");
  const target = validator("target");
  for (const { name, document } of documents.targets) checkDocument(target, document, name);
  // Each has just been checked against the schema its type describes.
  const states = documents.states as States;
  const last = states.rows.at(-1);
  if (last === undefined || Object.keys(last.when).length > 0)
    throw new MigrationError(
      "N2I-E103",
      "mappings/states.json: the last row must hold for every machine",
    );
  return {
    rules: documents.rules as Rules,
    drivers: documents.drivers as Drivers,
    states,
    targets: documents.targets.map(({ document }) => document as TargetDoc),
  };
}

/**
 * Columns of rules that are not optional must exist in the release, and columns the database
 * insists on must have a rule.
 *
 * @throws MigrationError N2I-E103
 */
export function mappingFor(
  { rules, drivers, states }: Checked,
  target: TargetDoc,
  columns: Mapping["columns"],
  site: Site,
): Mapping {
  const faults = [
    ...columnFaults([...rules.node, ...site.rules.node], columns.node, target, "node"),
    ...columnFaults([...rules.port, ...site.rules.port], columns.port, target, "port"),
  ];
  if (faults.length > 0)
    throw new MigrationError("N2I-E103", `${target.release}: ${faults.join("; ")}`);
  return { rules, drivers, states, target, columns, site };
}

function columnFaults(
  rules: readonly Rule[],
  columns: readonly Column[],
  { keys }: TargetDoc,
  table: string,
): readonly string[] {
  const known = new Set([...columns.map(({ name }) => name), "node_uuid"]);
  const column = ({ to }: Rule): string => {
    const [first = ""] = to.split(".");
    return first.startsWith("$") ? ((keys[first.slice(1)] ?? "").split(".")[0] ?? "") : first;
  };
  const given = new Set(rules.map(column));
  return [
    ...rules
      .filter((rule) => rule.optional !== true && column(rule) !== "" && !known.has(column(rule)))
      .map(({ to }) => `${table} rule ${to}: no such column`),
    ...columns
      .filter(({ name, null: nullable, auto }) => !nullable && auto !== true && !given.has(name))
      .map(({ name }) => `${table}.${name} may not be NULL and no rule gives it`),
  ];
}
