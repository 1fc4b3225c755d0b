import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AnySchemaObject } from "ajv/dist/2020.js";
import { parse as parseYaml } from "yaml";
import { type Checked, checkDocuments, mappingFor } from "../../core/mapping/mapping.ts";
import { recordValidator } from "../../core/mapping/record-schema.ts";
import { createAjv } from "../../core/mapping/schemas.ts";
import { NO_SITE, parseSite } from "../../core/mapping/site.ts";
import type { Validate } from "../../core/transform/transform.ts";
import { loadTables, type TablesName } from "../../demo/load-tables.ts";
import { packageRoot } from "../../demo/package-root.ts";
import { MigrationError } from "../../model/error.ts";
import type { Mapping, Site, TargetDoc } from "../../model/mapping.ts";
import type { Release } from "../../model/target.ts";

/** The mapping documents of this package, ready, and the digest a plan records of them. */
export interface Mappings {
  readonly releases: readonly Release[];
  readonly sha256: string;
  /** @throws MigrationError N2I-E103 */
  readonly site: (file: string) => { readonly site: Site; readonly sha256: string };
  readonly forRelease: (
    release: Release,
    site: Site,
  ) => { readonly mapping: Mapping; readonly validate: Validate };
}

const SCHEMAS = ["rules", "drivers", "states", "target", "site"] as const;

/** Reads, checks and compiles mappings/. */
export function loadMappings(): Mappings {
  const folder = join(packageRoot(), "mappings");
  const hash = createHash("sha256");
  const read = (name: string): unknown => {
    const text = readFileSync(join(folder, name), "utf8");
    hash.update(`${name}\n${text}`);
    return JSON.parse(text);
  };
  const schemas = Object.fromEntries(
    // The schemas are part of this package; ajv itself checks that they are schemas.
    SCHEMAS.map((name) => [name, read(`schema/${name}.schema.json`) as AnySchemaObject]),
  );
  const ajv = createAjv();
  const checked: Checked = checkDocuments(ajv, {
    rules: read("rules.json"),
    drivers: read("drivers.json"),
    states: read("states.json"),
    targets: readdirSync(join(folder, "targets"))
      .filter((name) => name.endsWith(".json"))
      .sort()
      .map((name) => ({ name: `mappings/targets/${name}`, document: read(`targets/${name}`) })),
    schemas,
  });
  const releases = checked.targets.map(toRelease);
  const siteSchema = ajv.compile(schemas.site ?? {});
  return {
    releases,
    sha256: hash.digest("hex"),
    site(file) {
      const text = readSite(file);
      const site = parseSite(siteSchema, parseText(text, file), file);
      return { site, sha256: createHash("sha256").update(text).digest("hex") };
    },
    forRelease(release, site = NO_SITE) {
      const columns = { node: release.node, port: release.port };
      return {
        mapping: mappingFor(checked, release.doc, columns, site),
        validate: recordValidator(ajv, release),
      };
    },
  };
}

function toRelease(doc: TargetDoc): Release {
  // A target document names one of the table documents beside it; loadTables fails on another.
  const { tables } = loadTables(doc.tables as TablesName);
  return { doc, node: tables.nodes?.columns ?? [], port: tables.ports?.columns ?? [] };
}

function readSite(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new MigrationError("N2I-E103", `${file} cannot be read`, { cause });
  }
}

/** YAML, of which JSON is a part. */
function parseText(text: string, file: string): unknown {
  try {
    return parseYaml(text, { maxAliasCount: 0 });
  } catch (cause) {
    const where = cause instanceof Error ? (cause.message.split("\n")[0] ?? "") : "";
    throw new MigrationError("N2I-E103", `${file} is not YAML or JSON: ${where}`, { cause });
  }
}
