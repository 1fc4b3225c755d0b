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

const fileOf = (name: Single): string => `mappings/${name}.json`;

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
    releases.toReversed().map(({ document }) => [document.release, document] as const),
  );
  const cache = new Map<Written, Complete>();
  const complete = (from: Written, above: readonly Written[] = []): Complete | string => {
    const { extends: base, ...changes } = from;
    if (base === undefined) return { document: changes, depth: 1 };
    const before = byRelease.get(base);
    if (before === undefined) return `/extends ${base} is not a release in mappings/targets`;
    const chain = [...above, from];
    if (chain.includes(before)) return `/extends ${base} is a cycle`;
    const found = cache.get(before) ?? complete(before, chain);
    if (typeof found === "string") return found;
    // Merging two objects returns an object.
    const document = merge(found.document, changes) as JsonObject;
    const made = { document, depth: found.depth + 1 };
    cache.set(from, made);
    return made;
  };
  const faults: string[] = [];
  const result = releases.flatMap(({ name, document }) => {
    if (byRelease.get(document.release) !== document)
      faults.push(listedFaults(name, [`/release ${document.release} has another document`]));
    const made = complete(document);
    if (typeof made !== "string") return [{ name, ...made }];
    faults.push(listedFaults(name, [made]));
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

/** The merged document, and the number of documents in its chain. */
interface Complete {
  readonly document: JsonObject;
  readonly depth: number;
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
