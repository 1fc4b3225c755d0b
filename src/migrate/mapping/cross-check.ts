import type { ValidateFunction } from "ajv/dist/2020.js";
import { MigrationError } from "../../lib/error.ts";
import { FINDINGS } from "../../model/findings.ts";
import { type Driver, type Hardware, hardwareOf, releasesIn } from "../../model/ironic/hardware.ts";
import type { RestDoc } from "../../model/ironic/rest.ts";
import { checkDocument, placed } from "../../model/json-schema/faults.ts";
import {
  type Column,
  type Drivers,
  extraFields,
  type Heads,
  type Rule,
  type Rules,
  type Site,
  type SiteEntry,
  type States,
  type TargetDoc,
} from "../../model/mapping.ts";
import { isSecretName } from "../../model/secret.ts";

/** Faults that need more than one document or schema. Each is a path and a text. */
type Faults = readonly string[];

function unknownFinding(code: string | undefined): boolean {
  return code !== undefined && !Object.hasOwn(FINDINGS, code);
}

/** The validated mapping documents of this package. A release and a site make a Mapping of them. */
export interface Checked {
  readonly rules: Rules;
  readonly drivers: Drivers;
  readonly states: States;
  readonly heads: Heads;
  readonly hardware: Hardware;
  readonly rest: RestDoc;
  /** Oldest first. */
  readonly targets: readonly TargetDoc[];
}

function findingFaults(rules: readonly Rule[], path: string): Faults {
  return rules.flatMap(({ missing }, at) =>
    unknownFinding(missing) ? [`${path}/${at}/missing ${missing} does not exist`] : [],
  );
}

/** The table needs a row for every machine, and valid findings. */
function stateFaults({ rows }: States): Faults {
  const last = rows.at(-1);
  return [
    ...(last === undefined || Object.keys(last.when).length > 0
      ? ["/rows the last row must match every machine"]
      : []),
    ...rows.flatMap(({ finding }, at) =>
      unknownFinding(finding) ? [`/rows/${at}/finding ${finding} does not exist`] : [],
    ),
  ];
}

/** Faults of single documents that need another document or the findings, by the document. */
export function crossFaults({ rules, drivers, states, heads, hardware, targets }: Checked): {
  readonly [document: string]: Faults;
} {
  return {
    rules: [...findingFaults(rules.node, "/node"), ...findingFaults(rules.port, "/port")],
    drivers: drivers.drivers.flatMap(({ rules: ofDriver }, at) =>
      findingFaults(ofDriver, `/drivers/${at}/rules`),
    ),
    states: stateFaults(states),
    heads: headFaults(heads, targets),
    hardware: hardwareFaults(hardware, targets),
  };
}

/** Each outcome that loads a machine needs a state in the release, and each driver needs a row. */
export function targetFaults(
  { states: releaseDrivers, drivers: planned }: TargetDoc,
  { states, drivers }: Checked,
): Faults {
  const rows = new Set(drivers.drivers.map(({ name }) => name));
  return [
    ...Object.keys(states.outcomes)
      .filter((outcome) => outcome !== "block" && releaseDrivers[outcome] === undefined)
      .map((outcome) => `/states ${outcome} is missing`),
    ...Object.keys(planned)
      .filter((name) => !rows.has(name))
      .map((name) => `/drivers ${name} is not a row in mappings/drivers.json`),
  ];
}

/** The last step of a release must be its supported head, and each revision must be unique. */
function headFaults({ older, steps, newer }: Heads, targets: readonly TargetDoc[]): Faults {
  const all = [...older.heads, ...Object.values(steps).flat(), ...newer];
  const ends = new Set(Object.values(steps).map((heads) => heads.at(-1)));
  const releases = new Set(targets.map(({ release }) => release));
  return [
    ...all
      .filter((head, at) => all.indexOf(head) !== at)
      .map((head) => `/ ${head} is listed twice`),
    ...Object.keys(steps)
      .filter((release) => !releases.has(release))
      .map((release) => `/steps/${release} is not a release in mappings/targets`),
    ...targets
      .filter(({ alembic_head }) => !ends.has(alembic_head))
      .map(({ release, alembic_head }) => `/steps none ends with ${release}'s ${alembic_head}`),
  ];
}

/** Each release must exist, with its planned drivers and their interfaces. */
function hardwareFaults(hardware: Hardware, targets: readonly TargetDoc[]): Faults {
  const releases = targets.map(({ release }) => release);
  return [
    ...releasesIn(hardware)
      .filter((release) => !releases.includes(release))
      .map((release) => `/ ${release} is not a release in mappings/targets`),
    ...Object.values(hardware.classic)
      .filter(({ needs: key }) => key !== undefined && hardware.needs[key] === undefined)
      .map(({ needs: key }) => `/needs ${key} is missing`),
    ...targets.flatMap(({ release, drivers }) => {
      const has = hardwareOf(hardware, release, releases).drivers;
      return Object.values(drivers).flatMap((planned) =>
        planned === null ? [] : unfit(release, planned, has.get(planned.driver ?? "")),
      );
    }),
  ];
}

function unfit(
  release: string,
  planned: { readonly [field: string]: string },
  driver: Driver | undefined,
): Faults {
  if (driver === undefined) return [`/ ${release} has no ${planned.driver}, which is planned`];
  return Object.entries(planned)
    .filter(([field, value]) => {
      const kind = /^(.+)_interface$/.exec(field)?.[1];
      return kind !== undefined && driver.interfaces?.get(kind)?.includes(value) !== true;
    })
    .map(([field, value]) => `/ ${release} ${planned.driver} has no ${field} ${value}`);
}

function column({ to }: Rule, { keys }: TargetDoc): string {
  const [first = ""] = to.split(".");
  const name = first.startsWith("$") ? (keys[first.slice(1)] ?? "") : first;
  return name.split(".")[0] ?? "";
}

/** Rules for missing columns or keys of the release, unless they are optional. */
export function columnFaults(
  rules: readonly Rule[],
  columns: readonly Column[],
  target: TargetDoc,
  path: string,
): Faults {
  const columnNames = new Set([...columns.map(({ name }) => name), ...extraFields(target)]);
  return rules.flatMap((rule, at) => {
    const key = [...rule.to.matchAll(/\$(\w+)/g)].find(([, name]) => !(`${name}` in target.keys));
    if (key !== undefined) return [`${path}/${at}/to ${key[0]} is not a key of ${target.release}`];
    const name = column(rule, target);
    return rule.optional === true || name === "" || columnNames.has(name)
      ? []
      : [`${path}/${at}/to ${name} is not a column of ${target.release}`];
  });
}

/** Required columns of the database without a rule. */
export function neededFaults(
  rules: readonly Rule[],
  columns: readonly Column[],
  target: TargetDoc,
  table: string,
): Faults {
  const mapped = new Set(rules.map((rule) => column(rule, target)));
  return columns
    .filter(({ name, null: nullable, auto }) => !nullable && auto !== true && !mapped.has(name))
    .map(({ name }) => `/${table} no rule sets ${name}, which ${target.release} needs`);
}

export const NO_SITE: Site = { machines: [], rules: { node: [], port: [] }, drops: {} };

/** The document as written, with optional parts. See mappings/schema/site.schema.json. */
interface Written {
  readonly drop?: Site["drops"];
  readonly rules?: { readonly node?: readonly Rule[]; readonly port?: readonly Rule[] };
  readonly machines?: readonly SiteEntry[];
}

const NO_SECRET = "is a secret, which a site document must not contain";

function secretKeys(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    isSecretName(key) ? [key] : secretKeys(inner).map((below) => `${key}/${below}`),
  );
}

/** A rule may copy a sealed secret, but may not contain one. */
function secretFaults(rules: readonly Rule[], path: string): readonly string[] {
  return rules.flatMap(({ to, value }, at) =>
    value !== undefined && (to.split(".").some(isSecretName) || secretKeys(value).length > 0)
      ? [`${path}/${at}/value ${NO_SECRET}`]
      : [],
  );
}

/** Checks that a schema cannot express. All faults are collected. */
function faultsOf(entry: SiteEntry, at: number): readonly string[] {
  const path = `/machines/${at}`;
  const { match, set = {}, accept = [] } = entry;
  const { uuid } = match;
  const isOne = uuid !== undefined && typeof uuid !== "object" && !String(uuid).includes("*");
  const secrets = (["driver_info", "properties"] as const).flatMap((column) =>
    secretKeys(set[column] ?? {}).map((key) => `${path}/set/${column}/${key}`),
  );
  return [
    ...(set.name !== undefined && !isOne
      ? [`${path}/set/name is for one machine: match its whole uuid`]
      : []),
    ...secrets.map((at) => `${at} ${NO_SECRET}`),
    ...accept.flatMap(({ finding }, index) => {
      const kind = Object.hasOwn(FINDINGS, finding) ? FINDINGS[finding] : undefined;
      if (kind === undefined) return [`${path}/accept/${index}/finding ${finding} does not exist`];
      return kind.severity === "blocks" && kind.acceptable !== true
        ? [`${path}/accept/${index}/finding ${finding} cannot be accepted: ${kind.title}`]
        : [];
    }),
  ];
}

/** Validates the site document. @throws MigrationError N2I-E103 with every fault and its path */
export function parseSite(
  validate: ValidateFunction,
  document: unknown,
  name: string,
  where: (path: string) => string = () => "",
): Site {
  checkDocument(validate, document, name, where);
  // The schema was checked above.
  const { drop = {}, rules = {}, machines = [] } = document as Written;
  const { node = [], port = [] } = rules;
  const faults = [
    ...[secretFaults, findingFaults].flatMap((faultsIn) => [
      ...faultsIn(node, "/rules/node"),
      ...faultsIn(port, "/rules/port"),
    ]),
    ...machines.flatMap(faultsOf),
  ];
  if (faults.length > 0)
    throw new MigrationError("N2I-E103", `${name}: ${placed(faults, where).join("; ")}`);
  return {
    file: name,
    machines: machines.map((entry) => ({
      ...entry,
      match: Object.fromEntries(
        Object.entries(entry.match).map(([column, value]) => [
          column,
          typeof value === "object" ? value.map(String) : String(value),
        ]),
      ),
    })),
    rules: { node, port },
    drops: drop,
  };
}
