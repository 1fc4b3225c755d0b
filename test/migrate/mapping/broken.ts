import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AnySchemaObject } from "ajv/dist/2020.js";
import { MigrationError } from "../../../src/lib/error.ts";
import { checkDocuments, type Documents } from "../../../src/migrate/mapping/mapping.ts";
import { createAjv } from "../../../src/model/json-schema/schemas.ts";
import { tablesVersions } from "../../../src/run/files/load-tables.ts";
import { packageRoot } from "../../../src/run/files/package-root.ts";

export const RELEASES = tablesVersions("ironic").map(String);

/** Releases from one to another, or the newest. */
export function after(first: string, last = "2026.1"): readonly string[] {
  return RELEASES.slice(RELEASES.indexOf(first), RELEASES.indexOf(last) + 1);
}

function read(name: string): unknown {
  return JSON.parse(readFileSync(join(packageRoot(), "mappings", name), "utf8"));
}

export function documents(): Documents {
  const names = readdirSync(join(packageRoot(), "mappings", "schema"));
  return {
    ...{ rules: read("rules.json"), drivers: read("drivers.json"), states: read("states.json") },
    heads: read("heads.json"),
    hardware: read("hardware.json"),
    rest: read("rest.json"),
    targets: RELEASES.map((name) => ({
      name: `mappings/targets/${name}.json`,
      document: read(`targets/${name}.json`),
    })),
    schemas: Object.fromEntries(
      // Schemas of this package.
      names.map((name) => [name.split(".")[0], read(`schema/${name}`) as AnySchemaObject]),
    ),
  };
}

/** Puts a value at a path of a document, or takes away what is there. */
export function broken(document: unknown, path: string, value?: unknown): void {
  const keys = path.split("/").slice(1);
  const last = keys.pop() ?? "";
  // The paths of this test lead through objects and lists.
  const at = keys.reduce<unknown>(
    (inner, key) => (inner as Record<string, unknown>)[key],
    document,
  );
  if (value === undefined) delete (at as Record<string, unknown>)[last];
  else (at as Record<string, unknown>)[last] = value;
}

export function faultsOf(work: () => unknown): readonly string[] {
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof MigrationError, String(error));
    assert.equal(error.code, "N2I-E103");
    return error.message.split(/\n|; /);
  }
  return [];
}

export function assertBroken(given: Documents, wanted: readonly RegExp[]): void {
  assertFaults(
    faultsOf(() => checkDocuments(createAjv(), given)),
    wanted,
  );
}

export function assertFaults(found: readonly string[], wanted: readonly RegExp[]): void {
  for (const pattern of wanted)
    assert.ok(
      found.some((line) => pattern.test(line)),
      `${pattern}\n${found.join("\n")}`,
    );
  assert.equal(found.length, wanted.length, found.join("\n"));
}
