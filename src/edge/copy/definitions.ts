import type { StoredTable } from "../../model/archive.ts";
import type { Database } from "../database/open.ts";
import { quoted } from "../database/read.ts";
import { ask, integer, isTrue, type RawRow, string, text } from "../database/rows.ts";
import { describeTables } from "../nova-bm/describe.ts";

/** The tables of a database that are copied. @param only these, as far as they are there; all without it */
export async function copiedTables(
  source: Database,
  only?: readonly string[],
): Promise<readonly StoredTable[]> {
  const all = await describeTables(source);
  return only === undefined ? all : all.filter(({ name }) => only.includes(name));
}

/** A schema's dump, as the server itself tells it. */
interface Definitions {
  /** Tables, and on PostgreSQL the sequences they count by and the types of their columns. */
  readonly before: readonly string[];
  /** What is checked of rows, and made faster with all of them there: keys and indexes. */
  readonly after: readonly string[];
}

/**
 * The statements that make tables of a database once more: of a copy, these before its rows and those after. Keys
 * to tables that are not among them are left out.
 */
export async function definitionsOf(
  source: Database,
  names: readonly string[],
): Promise<Definitions> {
  return source.engine === "mysql" ? inMysql(source, names) : inPostgres(source, names);
}

/** What the definitions are without; the trigger privilege alone lets MySQL's users see triggers. */
const WITHOUT = {
  mysql: `SELECT (SELECT count(*) FROM information_schema.views WHERE table_schema = DATABASE()) AS views,
    (SELECT count(*) FROM information_schema.triggers WHERE trigger_schema = DATABASE()) AS triggers,
    EXISTS (SELECT 1 FROM information_schema.user_privileges WHERE privilege_type = 'TRIGGER')
      OR EXISTS (SELECT 1 FROM information_schema.schema_privileges WHERE privilege_type = 'TRIGGER' AND DATABASE() LIKE table_schema) AS seen`,
  postgresql: `SELECT (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ANY (current_schemas(false)) AND c.relkind IN ('v','m')) AS views,
    (SELECT count(*) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ANY (current_schemas(false)) AND NOT t.tgisinternal) AS triggers,
    true AS seen`,
} as const;

/** What a copy by definitions lacks, for people; null: nothing. */
export async function lackingOf(source: Database): Promise<string | null> {
  if (source.engine === "sqlite") return null;
  const [row] = await ask(source, "counting views and triggers", WITHOUT[source.engine]);
  const [views, triggers] = [integer(row?.views) ?? 0, integer(row?.triggers) ?? 0];
  const count = (number: number, what: string) => `${number} ${what}${number === 1 ? "" : "s"}`;
  const lacking = [
    ...(views > 0 ? [count(views, "view")] : []),
    ...(triggers > 0 ? [count(triggers, "trigger")] : []),
    ...(triggers > 0 || isTrue(row?.seen)
      ? []
      : ["triggers, if there are any (this login may not see them)"]),
  ];
  return lacking.length === 0 ? null : lacking.join(" and ");
}

async function inMysql(source: Database, names: readonly string[]): Promise<Definitions> {
  const before: string[] = [];
  for (const name of names) {
    const sql = `SHOW CREATE TABLE ${quoted("mysql", name)}`;
    const [row] = await ask(source, `reading the definition of ${name}`, sql);
    before.push(withoutKeysTo(string(row?.["Create Table"]), names));
  }
  return { before, after: [] };
}

/** SHOW CREATE TABLE writes each key on a line of its own. */
function withoutKeysTo(sql: string, names: readonly string[]): string {
  const lines = sql.split("\n").filter((line) => {
    const [, to] = /^ *CONSTRAINT .* FOREIGN KEY .* REFERENCES `((?:[^`]|``)+)`/.exec(line) ?? [];
    return to === undefined || names.includes(to.replaceAll("``", "`"));
  });
  return lines.join("\n").replace(/,\n\)/, "\n)");
}

/** Of the tables that are found by the search path, as those that are described. */
const HERE = "n.nspname = ANY (current_schemas(false)) AND c.relkind IN ('r','p')";
const COLUMNS = `SELECT c.relname AS table_name, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull AS needed, pg_get_expr(d.adbin, d.adrelid) AS usual, pg_get_serial_sequence(quote_ident(n.nspname) || '.' || quote_ident(c.relname), a.attname) AS counter
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE ${HERE} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attnum`;
/** Keys that others refer to come before those that refer. */
const CONSTRAINTS = `SELECT c.relname AS table_name, k.conname AS name, pg_get_constraintdef(k.oid) AS definition, r.relname AS referred
  FROM pg_constraint k LEFT JOIN pg_class r ON r.oid = k.confrelid JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE ${HERE} AND k.contype IN ('p','u','x','c','f') ORDER BY k.contype = 'f', c.relname, k.conname`;
const INDEXES = `SELECT c.relname AS table_name, pg_get_indexdef(i.indexrelid) AS definition
  FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE ${HERE} AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p','u','x')) ORDER BY 1`;

/** Types that columns are of, with their labels: a copy whole has them, an empty database has not. */
const ENUMS = `SELECT DISTINCT c.relname AS table_name, format_type(t.oid, NULL) AS name, (SELECT string_agg(quote_literal(e.enumlabel), ', ' ORDER BY e.enumsortorder) FROM pg_enum e WHERE e.enumtypid = t.oid) AS labels
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_type t ON t.oid = a.atttypid
  WHERE ${HERE} AND a.attnum > 0 AND NOT a.attisdropped AND t.typtype = 'e'`;

async function inPostgres(source: Database, names: readonly string[]): Promise<Definitions> {
  const word = (name: unknown): string => quoted("postgresql", string(name));
  const [schema] = await ask(source, "reading the schema", "SELECT current_schema() AS name");
  const ours = ({ table_name }: RawRow): boolean => names.includes(string(table_name));
  const columns = (await ask(source, "reading columns", COLUMNS)).filter(ours);
  const counters = columns.flatMap((column) => {
    const counter = text(column.counter);
    const { table_name, name } = column;
    return counter === null ? [] : [{ table_name, name, counter }];
  });
  const tables = names.map((name) => {
    const own = columns.filter((column) => string(column.table_name) === name);
    return `CREATE TABLE ${word(name)} (${own.map((column) => columnOf(column, word)).join(", ")})`;
  });
  const constraints = (await ask(source, "reading keys", CONSTRAINTS)).filter(ours);
  const indexes = (await ask(source, "reading indexes", INDEXES)).filter(ours);
  const enums = (await ask(source, "reading types", ENUMS)).filter(ours);
  const types = new Map(enums.map(({ name, labels }) => [string(name), string(labels)]));
  return {
    before: [
      `CREATE SCHEMA IF NOT EXISTS ${word(schema?.name)}`,
      ...[...types].map(([name, labels]) => `CREATE TYPE ${name} AS ENUM (${labels})`),
      ...counters.map(({ counter }) => `CREATE SEQUENCE ${counter}`),
      ...tables,
      ...counters.map(
        ({ counter, table_name, name }) =>
          `ALTER SEQUENCE ${counter} OWNED BY ${word(table_name)}.${word(name)}`,
      ),
    ],
    after: [
      ...constraints
        .filter(({ referred }) => referred === null || names.includes(string(referred)))
        .map(
          ({ table_name, name, definition }) =>
            `ALTER TABLE ${word(table_name)} ADD CONSTRAINT ${word(name)} ${string(definition)}`,
        ),
      ...indexes.map(({ definition }) => string(definition)),
    ],
  };
}

function columnOf(column: RawRow, word: (name: unknown) => string): string {
  const counter = text(column.counter);
  // An identity column has no default that it tells.
  const next = counter === null ? null : `nextval('${counter.replaceAll("'", "''")}')`;
  const usual = text(column.usual) ?? next;
  return [
    `${word(column.name)} ${string(column.type)}`,
    ...(usual === null ? [] : [`DEFAULT ${usual}`]),
    ...(isTrue(column.needed) ? ["NOT NULL"] : []),
  ].join(" ");
}
