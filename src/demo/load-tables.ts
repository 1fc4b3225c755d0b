import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Column, ForeignKey, Key, Table, Tables } from "../model/tables.ts";
import { packageRoot } from "./package-root.ts";

export type TablesName = "nova_bm" | "nova" | "ironic-juno" | "ironic-kilo" | "ironic-2023.1";

/** First and last version that has a thing; without them, every version of the document. */
interface Span {
  readonly since?: number;
  readonly until?: number;
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
  /** Of documents with numbered versions. */
  readonly repository?: string;
  readonly repository_path?: string;
  readonly versions?: readonly number[];
  /** Of Ironic's. */
  readonly alembic_head?: string;
}

/**
 * The tables of `mappings/tables/NAME.json` as they are at one version.
 *
 * @param version of migrate_version: 1 to 10 of nova_bm, 216, 234 or 254 of nova; the newest
 *   when not given. Ironic's documents have one version each.
 * @throws RangeError for a version the document does not tell of
 * @source facts/nova-bm.md 1.1-1.3, 4.3, 5.1; facts/ironic.md 1.1-1.4
 */
export function loadTables(name: TablesName, version?: number): Tables {
  const path = join(packageRoot(), "mappings", "tables", `${name}.json`);
  // The document is part of this package, and a test holds it to mappings/schema/tables.schema.json.
  const document = JSON.parse(readFileSync(path, "utf8")) as Document;
  const at = version ?? document.versions?.at(-1) ?? 0;
  if (version !== undefined && !document.versions?.includes(version)) {
    throw new RangeError(`mappings/tables/${name}.json has no version ${version}`);
  }
  const tables = Object.entries(document.tables)
    .filter(([, table]) => within(table, at))
    .map(([table, { columns, primary, unique, foreign, index }]): [string, Table] => [
      table,
      {
        columns: cut(columns, at),
        primary,
        unique: cut(unique, at),
        foreign: cut(foreign, at),
        index: cut(index, at),
      },
    ]);
  return { tables: Object.fromEntries(tables), version: versionRow(document, at) };
}

function versionRow(document: Document, version: number): Tables["version"] {
  if (document.alembic_head !== undefined) {
    return { table: "alembic_version", row: { version_num: document.alembic_head } };
  }
  const { repository = "", repository_path = "" } = document;
  return {
    table: "migrate_version",
    row: { repository_id: repository, repository_path, version },
  };
}

function cut<T>(things: readonly (T & Span)[] = [], version: number): readonly T[] {
  return things.filter((thing) => within(thing, version));
}

function within({ since = 0, until = Number.POSITIVE_INFINITY }: Span, version: number): boolean {
  return since <= version && version <= until;
}
