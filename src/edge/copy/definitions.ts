import type { Database } from "../database/open.ts";
import { quoted } from "../database/read.ts";
import { ask, integer, isTrue, type RawRow, string, text } from "../database/rows.ts";
import { describeTables } from "../nova-bm/describe.ts";

/** A schema's dump, as the server itself tells it. */
interface Definitions {
  /** Tables, and on PostgreSQL the sequences they count by. */
  readonly before: readonly string[];
  /** What is checked of rows, and made faster with all of them there: keys and indexes. */
  readonly after: readonly string[];
}

/** The statements that make a database's tables once more: of a copy, these before its rows and those after. */
export async function definitionsOf(source: Database): Promise<Definitions> {
  const names = (await describeTables(source)).map(({ name }) => name);
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
    before.push(string(row?.["Create Table"]));
  }
  return { before, after: [] };
}

/** Of the tables that are found by the search path, as those that are described. */
const HERE = "n.nspname = ANY (current_schemas(false)) AND c.relkind IN ('r','p')";
const COLUMNS = `SELECT c.relname AS table_name, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull AS needed, pg_get_expr(d.adbin, d.adrelid) AS usual, pg_get_serial_sequence(quote_ident(n.nspname) || '.' || quote_ident(c.relname), a.attname) AS counter
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE ${HERE} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY c.relname, a.attnum`;
/** Keys that others refer to come before those that refer. */
const CONSTRAINTS = `SELECT c.relname AS table_name, k.conname AS name, pg_get_constraintdef(k.oid) AS definition
  FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE ${HERE} AND k.contype IN ('p','u','x','c','f') ORDER BY k.contype = 'f', c.relname, k.conname`;
const INDEXES = `SELECT pg_get_indexdef(i.indexrelid) AS definition
  FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE ${HERE} AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.indexrelid AND k.contype IN ('p','u','x')) ORDER BY 1`;

async function inPostgres(source: Database, names: readonly string[]): Promise<Definitions> {
  const word = (name: unknown): string => quoted("postgresql", string(name));
  const [schema] = await ask(source, "reading the schema", "SELECT current_schema() AS name");
  const columns = await ask(source, "reading columns", COLUMNS);
  const counters = columns.flatMap((column) => {
    const counter = text(column.counter);
    const { table_name, name } = column;
    return counter === null ? [] : [{ table_name, name, counter }];
  });
  const tables = names.map((name) => {
    const own = columns.filter((column) => string(column.table_name) === name);
    return `CREATE TABLE ${word(name)} (${own.map((column) => columnOf(column, word)).join(", ")})`;
  });
  const constraints = await ask(source, "reading keys", CONSTRAINTS);
  const indexes = await ask(source, "reading indexes", INDEXES);
  return {
    before: [
      `CREATE SCHEMA IF NOT EXISTS ${word(schema?.name)}`,
      ...counters.map(({ counter }) => `CREATE SEQUENCE ${counter}`),
      ...tables,
      ...counters.map(
        ({ counter, table_name, name }) =>
          `ALTER SEQUENCE ${counter} OWNED BY ${word(table_name)}.${word(name)}`,
      ),
    ],
    after: [
      ...constraints.map(
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
