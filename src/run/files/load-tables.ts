import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Column, ForeignKey, Key, Table, Tables } from "../../model/mapping.ts";
import { packageRoot } from "./package-root.ts";

type TablesName = "nova_bm" | "nova" | "nova_api" | "ironic";

/** A version of migrate_version, a head of Nova's alembic, or an Ironic release. */
type TablesVersion = number | string;

/** First and last version. Absent: unlimited. */
interface Span {
  readonly since?: TablesVersion;
  readonly until?: TablesVersion;
}

interface Document {
  readonly tables: {
    readonly [name: string]: Span & {
      readonly columns: readonly (Column & Span)[];
      readonly primary: readonly string[];
      readonly unique?: readonly (Key & Span)[];
      readonly foreign?: readonly (ForeignKey & Span)[];
      readonly index?: readonly (Key & Span)[];
    };
  };
  /** Oldest first. */
  readonly versions: readonly TablesVersion[];
  /** For documents with numeric versions, possibly followed by alembic heads. */
  readonly repository?: string;
  readonly repository_path?: string;
}

function documentOf<T>(...path: readonly string[]): T {
  const file = join(packageRoot(), "mappings", ...path);
  // Tests validate the documents with mappings/schema.
  return JSON.parse(readFileSync(file, "utf8")) as T;
}

/**
 * Tables of `mappings/tables/NAME.json` at one version.
 * @param version 1 to 10 of nova_bm, 216 to 402 of nova, 20 or 67 of nova_api, or an alembic head
 *   of the last two. A release of Ironic. Default: the newest
 * @throws RangeError for an unknown version
 * @source facts/nova-bm.md 1.1-1.3, 4.3, 5.1; facts/ironic.md 1.1-1.4
 */
export function loadTables(name: TablesName, version?: TablesVersion): Tables {
  const cached = cutAt.get(`${name} ${version}`);
  if (cached !== undefined) return cached;
  const document = documentOf<Document>("tables", `${name}.json`);
  const tables = cutTo(document, name, version ?? document.versions.at(-1) ?? 0);
  cutAt.set(`${name} ${version}`, tables);
  return tables;
}

/** Cache by name and version. */
const cutAt = new Map<string, Tables>();

function cutTo(document: Document, name: TablesName, version: TablesVersion): Tables {
  const { versions } = document;
  const at = versions.indexOf(version);
  if (at === -1) throw new RangeError(`mappings/tables/${name}.json has no version ${version}`);
  const within = ({ since = version, until = version }: Span): boolean =>
    versions.indexOf(since) <= at && at <= versions.indexOf(until);
  const cut = <T>(things: readonly (T & Span)[] = []): readonly T[] => things.filter(within);
  const tables = Object.entries(document.tables)
    .filter(([, table]) => within(table))
    .map(([table, { columns, primary, unique, foreign, index }]): [string, Table] => [
      table,
      {
        columns: cut(columns),
        primary,
        unique: cut(unique),
        foreign: cut(foreign),
        index: cut(index),
      },
    ]);
  return { tables: Object.fromEntries(tables), version: versionRow(document, version) };
}

/** Versions of a document, oldest first. */
export function tablesVersions(name: TablesName): readonly TablesVersion[] {
  return documentOf<Document>("tables", `${name}.json`).versions;
}

/** Ironic releases that can be targets, oldest first. Does not read their documents. */
export function releaseNames(): readonly string[] {
  return tablesVersions("ironic").map(String);
}

function versionRow(document: Document, version: TablesVersion): Tables["version"] {
  const { repository, repository_path = "" } = document;
  if (repository === undefined) {
    const target = documentOf<{ readonly alembic_head: string }>("targets", `${version}.json`);
    return { table: "alembic_version", row: { version_num: target.alembic_head } };
  }
  if (typeof version === "string")
    return { table: "alembic_version", row: { version_num: version } };
  return { table: "migrate_version", row: { repository_id: repository, repository_path, version } };
}
