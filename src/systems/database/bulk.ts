import { createRequire } from "node:module";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Knex } from "knex";
import type { Database } from "./open.ts";

const require = createRequire(import.meta.url);

interface Sent {
  readonly table: string;
  readonly columns: readonly string[];
}

/**
 * `doubtful`: MariaDB skipped or truncated rows, and reports only how many. `refused`: the server
 * accepts no bulk load. In both cases the caller must roll back.
 */
const SPECIAL = /[\\\t\n\r]/;
const ESCAPES: { readonly [character: string]: string } = {
  "\\": "\\\\",
  "\t": "\\t",
  "\n": "\\n",
  "\r": "\\r",
};

/**
 * A NUL is kept, because PostgreSQL then refuses it.
 *
 * @source PostgreSQL, COPY, "Text Format"; MariaDB, LOAD DATA INFILE, "FIELDS ESCAPED BY"
 */
export function fieldOf(value: string | number | boolean | null): string {
  switch (typeof value) {
    case "string":
      return SPECIAL.test(value)
        ? value.replaceAll(/[\\\t\n\r]/g, (character) => ESCAPES[character] ?? "")
        : value;
    case "boolean":
      return value ? "1" : "0";
    case "number":
      return String(value);
    default:
      return "\\N";
  }
}

/** Small chunks overlap the server's work with the preparation of the next chunk. */
const CHUNK = 65_536;

function* chunksOf(lines: Iterable<string>): Generator<Buffer> {
  let text = "";
  for (const line of lines) {
    text += line;
    if (text.length < CHUNK) continue;
    yield Buffer.from(text);
    text = "";
  }
  if (text !== "") yield Buffer.from(text);
}

/**
 * Uses COPY or LOAD DATA LOCAL, without a file.
 *
 * @param count number of lines
 * @throws the driver's error, unless the server refuses bulk loads
 */
export async function sendRows(
  { engine, knex }: Pick<Database, "engine" | "knex">,
  to: Sent,
  lines: Iterable<string>,
  count: number,
): Promise<"written" | "doubtful" | "refused"> {
  const chunks = chunksOf(lines);
  try {
    const stored = await (engine === "postgresql" ? copy : load)(knex, to, chunks);
    return stored === count ? "written" : "doubtful";
  } catch (error) {
    if (isRefused(error)) return "refused";
    throw error;
  }
}

/**
 * Refusals of bulk loads. PostgreSQL: row security (0A000), not a table (42809), missing privilege
 * (42501). MySQL and MariaDB: local_infile is off (1148, 3948, 4166), or a proxy does not know the
 * statement (1047, 1064, 1235).
 */
const REFUSALS: ReadonlySet<unknown> = new Set([
  ...["0A000", "42809", "42501"],
  ...[1047, 1064, 1148, 1235, 3948, 4166],
]);

function isRefused(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  return "errno" in error && typeof error.errno === "number"
    ? REFUSALS.has(error.errno)
    : "code" in error && REFUSALS.has(error.code);
}

/** The package's function, which returns a stream that pg accepts as a query. */
type CopyFrom = (sql: string) => Writable & { readonly rowCount: number };

async function copy(trx: Knex, { table, columns }: Sent, chunks: Iterable<Buffer>) {
  const { from } = require("pg-copy-streams") as { readonly from: CopyFrom };
  const sql = `COPY ${table} (${columns.join(",")}) FROM STDIN`;
  const through = async (client: unknown) => {
    const stream = from(sql);
    // pg's client accepts any object with a `submit` method.
    (client as { query: (query: unknown) => void }).query(stream);
    await pipeline(Readable.from(chunks), stream);
    return stream.rowCount;
  };
  return Number(await trx.raw(sql).options({ through }));
}

async function load(trx: Knex, { table, columns }: Sent, chunks: Iterable<Buffer>) {
  const form =
    "CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\\t' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n'";
  const sql = `LOAD DATA LOCAL INFILE 'rows' INTO TABLE ${table} ${form} (${columns.join(",")})`;
  // The server gets these rows whatever file name it requests. Requests at other times fail.
  const infileStreamFactory = (): Readable => Readable.from(chunks);
  const answer: unknown = await trx.raw(sql).options({ infileStreamFactory });
  // Duplicate keys and truncated values are only warnings here.
  return warningsOf(answer) > 0 ? null : (answer as [{ affectedRows: number }])[0].affectedRows;
}

/** @param answer mysql2's [header, fields] */
export function warningsOf(answer: unknown): number {
  const [header] = answer as [{ warningStatus?: number; warningCount?: number }];
  return header.warningStatus ?? header.warningCount ?? 0;
}
