import { createRequire } from "node:module";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Knex } from "knex";
import type { Through } from "./limit.ts";

const require = createRequire(import.meta.url);

/** Servers that read rows as text, sooner than they read a statement. */
type BulkEngine = "mysql" | "postgresql";

/** A value of a column. */
export type ColumnValue = string | number | boolean | null;

/** Where rows go. */
interface Sent {
  readonly engine: BulkEngine;
  readonly table: string;
  readonly columns: readonly string[];
}

/**
 * What became of rows that were sent. `doubtful`: MariaDB left some out or cut a value, of which it says how many and
 * not which. `refused`: the server takes no rows this way. Of both the transaction keeps what is not rolled back.
 */
export type Became = "written" | "doubtful" | "refused";

const SPECIAL = /[\\\t\n\r]/;
const ESCAPES: { readonly [character: string]: string } = {
  "\\": "\\\\",
  "\t": "\\t",
  "\n": "\\n",
  "\r": "\\r",
};

/**
 * A value as both COPY and LOAD DATA read it. A NUL stays one: PostgreSQL refuses it, as in a statement.
 *
 * @source PostgreSQL, COPY, "Text Format"; MariaDB, LOAD DATA INFILE, "FIELDS ESCAPED BY"
 */
export function fieldOf(value: ColumnValue): string {
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

/** Characters that go to the server at once: while it works on them the next are made. */
const CHUNK = 65_536;

/** Lines, a chunk at a time. */
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
 * Sends rows as lines of fields with a tab between them, by COPY or by LOAD DATA; no file is read.
 *
 * @param count how many lines there are
 * @throws the driver's error, where it is not that rows are refused this way
 */
export async function sendRows(
  trx: Knex,
  to: Sent,
  lines: Iterable<string>,
  count: number,
): Promise<Became> {
  const chunks = chunksOf(lines);
  try {
    const kept = await (to.engine === "postgresql" ? copy(trx, to, chunks) : load(trx, to, chunks));
    return kept === count ? "written" : "doubtful";
  } catch (error) {
    if (isRefused(error)) return "refused";
    throw error;
  }
}

/**
 * What servers answer who take no rows this way. PostgreSQL: where row security is on (0A000), into what is no table
 * (42809), without a right that INSERT may do without (42501). MySQL and MariaDB: local_infile is off (1148, 3948,
 * 4166), or a proxy between knows no such statement (1047, 1064, 1235).
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

/** The package's own function: a stream that a client of pg takes for a query. */
type CopyFrom = (sql: string) => Writable & { readonly rowCount: number };

async function copy(trx: Knex, { table, columns }: Sent, chunks: Iterable<Buffer>) {
  const { from } = require("pg-copy-streams") as { readonly from: CopyFrom };
  const sql = `COPY ${table} (${columns.join(",")}) FROM STDIN`;
  const through: Through = async (client) => {
    const stream = from(sql);
    // pg's own client, which takes whatever knows how to submit itself.
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
  // Whatever file a server asks for then, this is what it gets; to ask for one at any other time is an error.
  const infileStreamFactory = (): Readable => Readable.from(chunks);
  const answer: unknown = await trx.raw(sql).options({ infileStreamFactory });
  // mysql2: a pair of the result header and the fields. What is taken or does not fit is a warning here, not an error.
  const [{ affectedRows, warningStatus, warningCount }] = answer as [Header];
  return (warningStatus ?? warningCount ?? 0) > 0 ? null : affectedRows;
}

interface Header {
  readonly affectedRows: number;
  readonly warningStatus?: number;
  readonly warningCount?: number;
}
