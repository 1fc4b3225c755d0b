import type { Ajv2020, AnySchemaObject } from "ajv/dist/2020.js";
import { isObject, type Json, type JsonObject } from "../../lib/json.ts";
import { hardwareOf } from "../../model/ironic/hardware.ts";
import { listedFaults, refuse, schemaFaults } from "../../model/json-schema/faults.ts";
import type { Mapping, Site, TargetDoc } from "../../model/mapping.ts";
import {
  type Checked,
  columnFaults,
  crossFaults,
  neededFaults,
  targetFaults,
} from "./cross-check.ts";

/** Single documents, each with a schema of the same name. */
export const SINGLE = ["rules", "drivers", "states", "heads", "hardware", "rest"] as const;
type Single = (typeof SINGLE)[number];

function fileOf(name: Single): string {
  return `mappings/${name}.json`;
}

/** Documents and schemas from disk, not validated. */
export interface Documents extends Readonly<Record<Single, unknown>> {
  readonly targets: readonly DocumentFile[];
  readonly schemas: { readonly [name: string]: AnySchemaObject };
}

/** As `checkDocuments`, but validated by the build. @throws MigrationError N2I-E103 */
export function trustDocuments({ targets, ...documents }: Omit<Documents, "schemas">): Checked {
  return typed(documents, extended(targets));
}

/**
 * Validates every mapping document, alone and against the others.
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
  const merged = extended(documents.targets);
  refuse(merged.map(({ name, document }) => listedFaults(name, schemaFaults(target, document))));
  const checked = typed(documents, merged);
  const faults = crossFaults(checked);
  refuse([
    ...SINGLE.map((name) => listedFaults(fileOf(name), faults[name] ?? [])),
    ...merged.map(({ name, document }) => listedFaults(name, targetFaults(document, checked))),
  ]);
  return checked;
}

const TABLES = ["node", "port"] as const;

/** Only for documents that were validated against the schemas of these types. */
function typed(
  { rules, drivers, states, heads, hardware, rest }: Readonly<Record<Single, unknown>>,
  merged: readonly DocumentFile<TargetDoc>[],
): Checked {
  const targets = merged.map(({ document }) => document);
  return { rules, drivers, states, heads, hardware, rest, targets } as Checked;
}

/**
 * The complete document of every release, oldest first.
 * @throws MigrationError N2I-E103 with the faults of the documents they extend
 */
function extended(documents: readonly DocumentFile[]): readonly DocumentFile<TargetDoc>[] {
  // The schema requires a release.
  const releases = documents as readonly DocumentFile<Written>[];
  // If a release has two documents, the first applies and the other is reported.
  const byRelease = new Map(
    releases.toReversed().map((file) => [file.document.release, file] as const),
  );
  const merged = new Map<Written, JsonObject>();
  const faults: string[] = [];
  const result = releases.flatMap((file) => {
    const { name, document } = file;
    if (byRelease.get(document.release) !== file)
      faults.push(listedFaults(name, [`/release ${document.release} has another document`]));
    const chain = chainOf(document, byRelease);
    if (typeof chain !== "string")
      return [{ name, document: mergedOf(chain, merged), depth: chain.length }];
    faults.push(listedFaults(name, [chain]));
    return [];
  });
  refuse(faults);
  // The schema describes this type.
  return result.sort(
    (left, right) => left.depth - right.depth,
  ) as unknown as readonly DocumentFile<TargetDoc>[];
}

/**
 * Checks that rules have columns in the release, and that required columns have rules.
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

/** A target document as written: a complete release, or changes of another. */
interface Written extends JsonObject {
  readonly release: string;
  readonly extends?: string;
}

interface DocumentFile<T = unknown> {
  readonly name: string;
  readonly document: T;
}

/** Merges objects recursively. Lists, plain values and null replace the previous value. */
function merge(base: Json | undefined, change: Json): Json {
  if (!isObject(base) || !isObject(change)) return change;
  const merged = Object.entries(change).map(([key, value]) => [key, merge(base[key], value)]);
  return { ...base, ...Object.fromEntries(merged) };
}

/** Merges the documents of a chain. @param merged merged documents, to which new ones are added */
function mergedOf(chain: readonly Written[], merged: Map<Written, JsonObject>): JsonObject {
  return chain.reduce<JsonObject>((base, document) => {
    const { extends: _, ...overrides } = document;
    // Merging two objects returns an object.
    const combined = merged.get(document) ?? (merge(base, overrides) as JsonObject);
    merged.set(document, combined);
    return combined;
  }, {});
}

/** The chain of documents that a release extends, or the fault of a cycle or missing release. */
function chainOf(
  from: Written,
  byRelease: ReadonlyMap<string, DocumentFile<Written>>,
): readonly Written[] | string {
  const chain: Written[] = [from];
  for (let at = from; at.extends !== undefined; ) {
    const base = byRelease.get(at.extends)?.document;
    if (base === undefined) return `/extends ${at.extends} is not a release in mappings/targets`;
    if (chain.includes(base)) return `/extends ${at.extends} is a cycle`;
    chain.unshift(base);
    at = base;
  }
  return chain;
}
