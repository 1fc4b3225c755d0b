import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Ajv2020, AnySchemaObject, ValidateFunction } from "ajv/dist/2020.js";
import type { Release } from "../../model/ironic/target.ts";
import { checkDocument } from "../../model/json-schema/faults.ts";
import type { Site, TargetDoc } from "../../model/mapping.ts";
import type { SettingsDoc } from "../../model/settings.ts";
import type { IdenticalDoc } from "../../model/switchover.ts";
import { loadTables } from "../../run/files/load-tables.ts";
import { packageRoot } from "../../run/files/package-root.ts";
import { locator, parseDocument, readDocument } from "../../run/files/yaml-file.ts";
import { parseSite } from "../mapping/cross-check.ts";
import {
  checkDocuments,
  type Documents,
  mappingFor,
  SINGLE,
  trustDocuments,
} from "../mapping/mapping.ts";
import { recordValidator } from "../mapping/record-schema.ts";
import type { Validate } from "../transform/transform.ts";

export type Mappings = Awaited<ReturnType<typeof readMappings>>;

/** Digests of the documents that the build validated. */
const CHECKED = "dist/checked.json";

let mappings: Promise<Mappings> | undefined;

/** The documents of mappings/, read once, validated if changed. @throws MigrationError N2I-E103 */
export function loadMappings(): Promise<Mappings> {
  mappings ??= readMappings();
  return mappings;
}

async function readMappings() {
  const { documents, sha256 } = mappingDocuments();
  const checked = wasChecked(sha256)
    ? trustDocuments(documents)
    : checkDocuments(await ajvFor(), documents);
  const releases = checked.targets.map(toRelease);
  const validators = new Map<Release, Promise<Validate>>();
  let validateSite: Promise<ValidateFunction> | undefined;
  return {
    releases,
    heads: checked.heads,
    rest: checked.rest,
    sha256,
    /** @throws MigrationError N2I-E103 */
    async site(file: string) {
      const text = readDocument(file);
      validateSite ??= ajvFor().then((ajv) => ajv.compile(documents.schemas.site ?? {}));
      const site = parseSite(await validateSite, parseDocument(text, file), file, locator(text));
      return { site, sha256: createHash("sha256").update(text).digest("hex") };
    },
    forRelease: ({ doc, node, port }: Release, site: Site) =>
      mappingFor(checked, doc, { node, port }, site),
    validator(release: Release) {
      const cached =
        validators.get(release) ??
        ajvFor({ often: true }).then((ajv) => recordValidator(ajv, release));
      validators.set(release, cached);
      return cached;
    },
  };
}

/** Documents that do not affect a plan, so its digest of the mappings excludes them. */
const ALONE = ["settings", "identical"] as const;

export async function loadSettings(): Promise<SettingsDoc> {
  // Validated here or by the build.
  return (await loadAlone("settings")) as SettingsDoc;
}

/**
 * The properties that must be equal between two nodes. @throws MigrationError N2I-E103
 * @param file the operator's document. Default: this package's
 */
export async function loadIdentical(file: string | undefined): Promise<IdenticalDoc> {
  return (await loadAlone("identical", file)) as IdenticalDoc; // as above
}

async function loadAlone(name: (typeof ALONE)[number], file?: string): Promise<unknown> {
  const { document, sha256, schema } = aloneDocument(name);
  if (file === undefined && wasChecked(sha256)) return document;
  const validate = (await ajvFor()).compile(schema);
  const text = file === undefined ? "" : readDocument(file);
  const loaded = file === undefined ? document : parseDocument(text, file);
  const where = file === undefined ? undefined : locator(text);
  checkDocument(validate, loaded, file ?? `mappings/${name}.json`, where);
  return loaded;
}

/** Validates every document. @returns digests of valid documents @throws MigrationError N2I-E103 */
export async function checkMappings(): Promise<readonly string[]> {
  const mapping = mappingDocuments();
  const ajv = await ajvFor();
  checkDocuments(ajv, mapping.documents);
  const alone = ALONE.map((name) => {
    const { schema, document, sha256 } = aloneDocument(name);
    checkDocument(ajv.compile(schema), document, `mappings/${name}.json`);
    return sha256;
  });
  return [mapping.sha256, ...alone];
}

function mappingDocuments(): { readonly documents: Documents; readonly sha256: string } {
  const { read, digest } = reader();
  const schemas = Object.fromEntries(
    // The schemas are part of this package, and tests validate them.
    [...SINGLE, "target", "site"].map((name) => [
      name,
      read(`schema/${name}.schema.json`) as AnySchemaObject,
    ]),
  );
  const single = SINGLE.map((name) => [name, read(`${name}.json`)] as const);
  const documents = {
    ...(Object.fromEntries(single) as { readonly [name in (typeof SINGLE)[number]]: unknown }),
    targets: readdirSync(join(packageRoot(), "mappings", "targets"))
      .filter((name) => name.endsWith(".json"))
      .sort()
      .map((name) => ({ name: `mappings/targets/${name}`, document: read(`targets/${name}`) })),
    schemas,
  };
  return { documents, sha256: digest() };
}

function aloneDocument(name: (typeof ALONE)[number]) {
  const { read, digest } = reader();
  // A schema of this package, which ajv validates.
  const schema = read(`schema/${name}.schema.json`) as AnySchemaObject;
  const document = read(`${name}.json`);
  return { schema, document, sha256: digest() };
}

/** Reads documents, and returns the digest of all it has read. */
function reader(): { readonly read: (name: string) => unknown; readonly digest: () => string } {
  const hash = createHash("sha256");
  return {
    read(name) {
      const text = readFileSync(join(packageRoot(), "mappings", name), "utf8");
      hash.update(`${name}\n${text}`);
      return JSON.parse(text);
    },
    digest: () => hash.digest("hex"),
  };
}

function wasChecked(sha256: string): boolean {
  try {
    const digests: unknown = JSON.parse(readFileSync(join(packageRoot(), CHECKED), "utf8"));
    return Array.isArray(digests) && digests.includes(sha256);
  } catch {
    // The build did not finish, so the documents are validated here.
    return false;
  }
}

/** Loaded only for site documents, changed documents and records. Most commands do not need it. */
async function ajvFor(how: { readonly often?: boolean } = {}): Promise<Ajv2020> {
  const { createAjv } = await import("../../model/json-schema/schemas.ts");
  return createAjv(how);
}

/** Reads columns lazily, because only one of many releases is in use. */
function toRelease(doc: TargetDoc): Release {
  const columnsOf = (table: string): Release["node"] =>
    loadTables("ironic", doc.release).tables[table]?.columns ?? [];
  return {
    doc,
    get node() {
      return columnsOf("nodes");
    },
    get port() {
      return columnsOf("ports");
    },
  };
}
