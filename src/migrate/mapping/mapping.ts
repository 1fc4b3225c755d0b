import type { Ajv2020, AnySchemaObject } from "ajv/dist/2020.js";
import { isObject, type Json, type JsonObject } from "../../lib/json.ts";
import { type Hardware, hardwareOf } from "../../model/ironic/hardware.ts";
import type { RestDoc } from "../../model/ironic/rest.ts";
import { listedFaults, refuse, schemaFaults } from "../../model/json-schema/faults.ts";
import type {
  Drivers,
  Heads,
  Mapping,
  Rules,
  Site,
  States,
  TargetDoc,
} from "../../model/mapping.ts";
import {
  columnFaults,
  driverFaults,
  findingFaults,
  hardwareFaults,
  headFaults,
  neededFaults,
  stateFaults,
  targetFaults,
} from "./cross-check.ts";

/** Documents of which there is one, each with a schema of its name. */
export const SINGLE = ["rules", "drivers", "states", "heads", "hardware", "rest"] as const;
type Single = (typeof SINGLE)[number];

function fileOf(name: Single): string {
  return `mappings/${name}.json`;
}

/** Documents and schemas as read from disk, unchecked. */
export interface Documents extends Readonly<Record<Single, unknown>> {
  readonly targets: readonly NamedDocument[];
  readonly schemas: { readonly [name: string]: AnySchemaObject };
}

/** The mapping documents of this package, checked; a release and a site make a Mapping of them. */
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

/**
 * The same documents unchecked, with what releases extend: they are part of the package, and were
 * checked when it was built.
 *
 * @throws MigrationError N2I-E103 for a release that extends one that is not there
 */
export function trustDocuments({ targets, ...documents }: Omit<Documents, "schemas">): Checked {
  return typed(documents, extended(targets));
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
    ...SINGLE.map((name) =>
      listedFaults(fileOf(name), schemaFaults(validator(name), documents[name])),
    ),
    ...documents.targets.map(({ name, document }) =>
      listedFaults(name, schemaFaults(target, document)),
    ),
  ]);
  const whole = extended(documents.targets);
  refuse(whole.map(({ name, document }) => listedFaults(name, schemaFaults(target, document))));
  const checked = typed(documents, whole);
  const { rules, drivers, states, heads, hardware, targets } = checked;
  refuse([
    listedFaults(
      fileOf("rules"),
      TABLES.flatMap((name) => findingFaults(rules[name], `/${name}`)),
    ),
    listedFaults(fileOf("drivers"), driverFaults(drivers)),
    listedFaults(fileOf("states"), stateFaults(states)),
    listedFaults(fileOf("heads"), headFaults(heads, targets)),
    listedFaults(fileOf("hardware"), hardwareFaults(hardware, targets)),
    ...whole.map(({ name, document }) =>
      listedFaults(name, targetFaults(document, states, drivers)),
    ),
  ]);
  return checked;
}

const TABLES = ["node", "port"] as const;

/** Documents that were checked against the schemas their types describe. */
function typed(
  { rules, drivers, states, heads, hardware, rest }: Readonly<Record<Single, unknown>>,
  whole: readonly NamedDocument<TargetDoc>[],
): Checked {
  const targets = whole.map(({ document }) => document);
  return { rules, drivers, states, heads, hardware, rest, targets } as Checked;
}

/**
 * Releases' documents with what they extend.
 *
 * @throws MigrationError N2I-E103
 */
function extended(documents: readonly NamedDocument[]): readonly NamedDocument<TargetDoc>[] {
  // The schema asks for a release.
  const { whole, faults } = extendTargets(
    documents as readonly NamedDocument<JsonObject & { readonly release: string }>[],
  );
  refuse(faults.map(([name, fault]) => listedFaults(name, [fault])));
  // The schema is the one its type describes.
  return whole as unknown as readonly NamedDocument<TargetDoc>[];
}

/**
 * Columns of rules that are not optional must exist in the release, and columns the database
 * insists on must have a rule.
 *
 * @throws MigrationError N2I-E103 naming document and path of every fault
 */
export function mappingFor(
  { rules, drivers, states, hardware, targets }: Checked,
  target: TargetDoc,
  columns: Mapping["columns"],
  site: Site,
): Mapping {
  refuse([
    listedFaults(
      fileOf("rules"),
      TABLES.flatMap((table) => [
        ...columnFaults(rules[table], columns[table], target, `/${table}`),
        ...neededFaults([...rules[table], ...site.rules[table]], columns[table], target, table),
      ]),
    ),
    listedFaults(
      fileOf("drivers"),
      drivers.drivers.flatMap((row, at) =>
        columnFaults(row.rules, columns.node, target, `/drivers/${at}/rules`),
      ),
    ),
    listedFaults(
      site.file ?? "the site document",
      TABLES.flatMap((table) =>
        columnFaults(site.rules[table], columns[table], target, `/rules/${table}`),
      ),
    ),
  ]);
  const releases = targets.map(({ release }) => release);
  return {
    ...{ rules, drivers, states, target, columns, site },
    hardware: hardwareOf(hardware, target.release, releases),
  };
}

/** A target document as written: the whole release, or what it changes of another. */
interface Written extends JsonObject {
  readonly release: string;
  readonly extends?: string;
}

/** A named document; what it says is checked by the caller. */
interface NamedDocument<T = unknown> {
  readonly name: string;
  readonly document: T;
}

/** Objects are merged member by member; lists and plain values are replaced whole, null as well. */
function merge(base: Json | undefined, change: Json): Json {
  if (!isObject(base) || !isObject(change)) return change;
  const merged = Object.entries(change).map(([key, value]) => [key, merge(base[key], value)]);
  return { ...base, ...Object.fromEntries(merged) };
}

/** What a chain's documents say together. @param known of a document with those it rests on; what is new is added */
function wholeOf(chain: readonly Written[], known: Map<Written, JsonObject>): JsonObject {
  let whole: JsonObject = {};
  for (const document of chain) {
    const { extends: _, ...said } = document;
    // Both are objects, and so is what becomes of them.
    const next = known.get(document) ?? (merge(whole, said) as JsonObject);
    known.set(document, next);
    whole = next;
  }
  return whole;
}

/** The documents a release rests on, itself last; a fault when there is no end or no such release. */
function chainOf(
  { document: from }: NamedDocument<Written>,
  byRelease: ReadonlyMap<string, NamedDocument<Written>>,
): readonly Written[] | string {
  const chain: Written[] = [from];
  for (let at = from; at.extends !== undefined; ) {
    const base = byRelease.get(at.extends)?.document;
    if (base === undefined) return `/extends ${at.extends} is no release of mappings/targets`;
    if (chain.includes(base)) return `/extends ${at.extends} goes round in a circle`;
    chain.unshift(base);
    at = base;
  }
  return chain;
}

/**
 * Every release's whole document, oldest first: a document comes after the one it extends.
 *
 * @param documents each already as its schema says
 * @returns the documents, and what is wrong with each by its name
 */
function extendTargets(documents: readonly NamedDocument<Written>[]): {
  readonly whole: readonly NamedDocument<JsonObject>[];
  readonly faults: readonly (readonly [name: string, fault: string])[];
} {
  // Of two documents of one release the first counts; the other is reported.
  const byRelease = new Map(
    documents.toReversed().map((named) => [named.document.release, named] as const),
  );
  const faults: (readonly [string, string])[] = [];
  const whole: { readonly name: string; readonly document: JsonObject; readonly depth: number }[] =
    [];
  const merged = new Map<Written, JsonObject>();
  for (const named of documents) {
    const { name, document } = named;
    if (byRelease.get(document.release) !== named)
      faults.push([name, `/release ${document.release} has another document`]);
    const chain = chainOf(named, byRelease);
    if (typeof chain === "string") faults.push([name, chain]);
    else whole.push({ name, document: wholeOf(chain, merged), depth: chain.length });
  }
  return { whole: whole.sort((left, right) => left.depth - right.depth), faults };
}
