import { createHash } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { AnySchemaObject } from "ajv/dist/2020.js";
import {
  type Checked,
  checkDocuments,
  type Documents,
  mappingFor,
  trustDocuments,
} from "../core/mapping/mapping.ts";
import { recordValidator } from "../core/mapping/record-schema.ts";
import { checkDocument, createAjv } from "../core/mapping/schemas.ts";
import { NO_SITE, parseSite } from "../core/mapping/site.ts";
import type { Validate } from "../core/transform/transform.ts";
import { loadTables } from "../demo/load-tables.ts";
import { packageRoot } from "../demo/package-root.ts";
import { systemCode } from "../edge/disk/failure.ts";
import type { KnownReleases } from "../edge/ironic-db/release.ts";
import { MigrationError } from "../model/error.ts";
import type { Mapping, Site, TargetDoc } from "../model/mapping.ts";
import type { RestDoc } from "../model/rest.ts";
import type { SettingsDoc } from "../model/settings.ts";
import type { Release } from "../model/target.ts";

const require = createRequire(import.meta.url);

/** The mapping documents of this package, ready, and the digest a plan records of them. */
export interface Mappings extends KnownReleases {
  readonly sha256: string;
  readonly rest: RestDoc;
  /** @throws MigrationError N2I-E103 */
  readonly site: (file: string) => { readonly site: Site; readonly sha256: string };
  readonly forRelease: (
    release: Release,
    site: Site,
  ) => { readonly mapping: Mapping; readonly validate: Validate };
}

const SCHEMAS = [
  "rules",
  "drivers",
  "states",
  "heads",
  "hardware",
  "rest",
  "target",
  "site",
] as const;

let mappings: Mappings | undefined;

/** Reads mappings/, once. They are part of the program: the build has checked them. */
export function loadMappings(): Mappings {
  mappings ??= readMappings(trustDocuments);
  return mappings;
}

/**
 * What the build runs.
 *
 * @throws MigrationError N2I-E103 naming file and path of every fault
 */
export function checkMappings(): void {
  readMappings((documents) => checkDocuments(createAjv({ doubt: true }), documents));
}

function readMappings(checkedFrom: (documents: Documents) => Checked): Mappings {
  const folder = join(packageRoot(), "mappings");
  const hash = createHash("sha256");
  const read = (name: string): unknown => {
    const text = readFileSync(join(folder, name), "utf8");
    hash.update(`${name}\n${text}`);
    return JSON.parse(text);
  };
  const schemas = Object.fromEntries(
    // The schemas are part of this package; its tests check that they are schemas.
    SCHEMAS.map((name) => [name, read(`schema/${name}.schema.json`) as AnySchemaObject]),
  );
  const checked = checkedFrom({
    rules: read("rules.json"),
    drivers: read("drivers.json"),
    states: read("states.json"),
    heads: read("heads.json"),
    hardware: read("hardware.json"),
    rest: read("rest.json"),
    targets: readdirSync(join(folder, "targets"))
      .filter((name) => name.endsWith(".json"))
      .sort()
      .map((name) => ({ name: `mappings/targets/${name}`, document: read(`targets/${name}`) })),
    schemas,
  });
  const releases = checked.targets.map(toRelease);
  const ajv = createAjv();
  const validators = new Map<Release, Validate>();
  return {
    releases,
    heads: checked.heads,
    rest: checked.rest,
    sha256: hash.digest("hex"),
    site(file) {
      const text = readSite(file);
      const site = parseSite(ajv.compile(schemas.site ?? {}), parseText(text, file), file);
      return { site, sha256: createHash("sha256").update(text).digest("hex") };
    },
    forRelease(release, site = NO_SITE) {
      const columns = { node: release.node, port: release.port };
      const validate =
        validators.get(release) ?? recordValidator(createAjv({ often: true }), release);
      validators.set(release, validate);
      return { mapping: mappingFor(checked, release.doc, columns, site), validate };
    },
  };
}

/** Settings of Nova by release. They shape no plan, so its digest of the mappings leaves them out. */
export function loadSettings(): SettingsDoc {
  const folder = join(packageRoot(), "mappings");
  const read = (name: string): unknown => JSON.parse(readFileSync(join(folder, name), "utf8"));
  // A schema of this package; ajv itself checks that it is one.
  const schema = read("schema/settings.schema.json") as AnySchemaObject;
  const document = read("settings.json");
  checkDocument(createAjv().compile(schema), document, "mappings/settings.json");
  // Just checked against the schema its type describes.
  return document as SettingsDoc;
}

function toRelease(doc: TargetDoc): Release {
  const { tables } = loadTables("ironic", doc.release);
  return { doc, node: tables.nodes?.columns ?? [], port: tables.ports?.columns ?? [] };
}

/** Bytes: far more than decisions for every machine of a large site take. */
const SITE_LIMIT = 16 * 1024 * 1024;

function readSite(file: string): string {
  const refuse = (why: string, cause?: unknown): MigrationError =>
    new MigrationError("N2I-E103", `${file} cannot be read: ${why}`, { cause });
  try {
    // O_NONBLOCK: to open a pipe would wait for its writer.
    const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const found = fstatSync(handle);
      if (!found.isFile()) throw refuse("it is not a regular file");
      if (found.size > SITE_LIMIT) throw refuse(`it is larger than ${SITE_LIMIT} bytes`);
      return readFileSync(handle, "utf8");
    } finally {
      closeSync(handle);
    }
  } catch (cause) {
    throw cause instanceof MigrationError ? cause : refuse(systemCode(cause) ?? "no name", cause);
  }
}

/** Faults told at once; the others are counted. */
const TOLD = 20;

/** YAML, of which JSON is a part. What is wrong is told by line and kind: a line may be a secret. */
function parseText(text: string, file: string): unknown {
  const refuse = (faults: readonly string[]): MigrationError => {
    const more = faults.length > TOLD ? [`and ${faults.length - TOLD} more`] : [];
    const told = [...faults.slice(0, TOLD), ...more].join("; ");
    return new MigrationError("N2I-E103", `${file} is not YAML or JSON: ${told}`);
  };
  try {
    // Loaded when there is something to read.
    const { parseDocument } = require("yaml") as typeof import("yaml");
    const document = parseDocument(text, { logLevel: "silent" });
    const faults = [...document.errors, ...document.warnings].map(({ code, linePos }) => {
      const [at] = linePos ?? [];
      return `line ${at?.line ?? 1}, column ${at?.col ?? 1}: ${code.toLowerCase().replaceAll("_", " ")}`;
    });
    if (faults.length > 0) throw refuse(faults);
    return document.toJS({ maxAliasCount: 0 });
  } catch (cause) {
    if (cause instanceof MigrationError) throw cause;
    // Only the parser's recursion ends in a RangeError; everything else is an alias it did not take.
    throw refuse([cause instanceof RangeError ? "it is nested too deeply" : "it has aliases"]);
  }
}
