import type { Ajv2020, AnySchemaObject } from "ajv/dist/2020.js";
import type { Drivers, Mapping, Rules, Site, States, TargetDoc } from "../../model/mapping.ts";
import {
  columnFaults,
  driverFaults,
  findingFaults,
  neededFaults,
  stateFaults,
  targetFaults,
} from "./cross-check.ts";
import { refuse, schemaFaults, told } from "./schemas.ts";

const RULES = "mappings/rules.json";
const DRIVERS = "mappings/drivers.json";
const STATES = "mappings/states.json";

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
  const target = validator("target");
  refuse([
    told(RULES, schemaFaults(validator("rules"), documents.rules)),
    told(DRIVERS, schemaFaults(validator("drivers"), documents.drivers)),
    told(STATES, schemaFaults(validator("states"), documents.states)),
    ...documents.targets.map(({ name, document }) => told(name, schemaFaults(target, document))),
  ]);
  // Each has just been checked against the schema its type describes.
  const checked: Checked = {
    rules: documents.rules as Rules,
    drivers: documents.drivers as Drivers,
    states: documents.states as States,
    targets: documents.targets.map(({ document }) => document as TargetDoc),
  };
  const { rules, drivers, states, targets } = checked;
  refuse([
    told(RULES, [...findingFaults(rules.node, "/node"), ...findingFaults(rules.port, "/port")]),
    told(DRIVERS, driverFaults(drivers, targets)),
    told(STATES, stateFaults(states)),
    ...documents.targets.map(({ name }, at) => {
      const document = targets[at];
      return told(name, document === undefined ? [] : targetFaults(document, states));
    }),
  ]);
  return checked;
}

/**
 * Columns of rules that are not optional must exist in the release, and columns the database
 * insists on must have a rule.
 *
 * @throws MigrationError N2I-E103 naming document and path of every fault
 */
export function mappingFor(
  { rules, drivers, states }: Checked,
  target: TargetDoc,
  columns: Mapping["columns"],
  site: Site,
): Mapping {
  const tables = ["node", "port"] as const;
  refuse([
    told(
      RULES,
      tables.flatMap((table) => [
        ...columnFaults(rules[table], columns[table], target, `/${table}`),
        ...neededFaults([...rules[table], ...site.rules[table]], columns[table], target, table),
      ]),
    ),
    told(
      DRIVERS,
      drivers.drivers.flatMap((row, at) =>
        columnFaults(row.rules, columns.node, target, `/drivers/${at}/rules`),
      ),
    ),
    told(
      site.file ?? "the site document",
      tables.flatMap((table) =>
        columnFaults(site.rules[table], columns[table], target, `/rules/${table}`),
      ),
    ),
  ]);
  return { rules, drivers, states, target, columns, site };
}
