import { BEYOND, isUtf8, type OddText, type StoredText } from "../../model/charset.ts";
import type { BmFacts, CheckResult, CheckView, IronicFacts } from "../../model/check.ts";
import { FINE, fine, isRefused, joined, resultOf, unseen, warning } from "./look.ts";

/**
 * Whether the four databases hold what is read of them and written to them. A charset alone is no
 * fault: nova's tables are often latin1 or utf8mb3, and right as long as all that matters is ASCII.
 *
 * @source facts/ironic.md 1.2
 */
export function charsets(view: CheckView): CheckResult {
  const { bm, ironic, nova, api, plan } = view;
  const texts = nova === null || isRefused(nova) ? [] : nova.texts;
  const apiTexts = api === null || isRefused(api) ? [] : api.texts;
  return joined([
    isRefused(bm) ? unseen("--nova-bm-db") : garbledCredentials(bm),
    isRefused(ironic) ? unseen("--ironic-db") : narrow(ironic),
    lost(texts, plan?.nova?.odd ?? []),
    garbled(texts, "--nova-db"),
    garbled(apiTexts, "--nova-api-db"),
    apart(texts),
    named(view),
  ]);
}

/** The charsets, in figures. */
function named({ bm, ironic, nova }: CheckView): CheckResult {
  const of = (texts: readonly StoredText[]): string =>
    [...new Set(texts.map(({ charset }) => charset))].sort().join(" and ");
  const sides = [
    ...(isRefused(bm) ? [] : [`nova_bm's tables are ${bm.charset}`]),
    ...(nova === null || isRefused(nova) || nova.texts.length === 0
      ? []
      : [`nova's ${of(nova.texts)}`]),
    ...(isRefused(ironic) ? [] : [`Ironic's ${ironic.charset}`]),
  ];
  return fine(`${sides.join(", ")}.`);
}

function garbledCredentials({ charset, odd }: BmFacts): CheckResult {
  if (odd === 0 || isUtf8(charset)) return FINE;
  return warning(
    `nova_bm's tables are ${charset}, and credentials of ${odd} machines are not plain ASCII: they may be stored garbled (N2I-D306).`,
    "nova2ironic power --run RUN tells which of them the BMC takes; correct pm_user or pm_password of the others",
  );
}

function narrow({ charset }: IronicFacts): CheckResult {
  if (isUtf8(charset)) return FINE;
  return warning(
    `Ironic's tables are ${charset}: names with other characters block their machine (N2I-D405).`,
    "ALTER TABLE nodes CONVERT TO CHARACTER SET utf8mb3; the same for ports",
  );
}

/** Columns that name compute hosts, which Nova and this tool compare with each other. */
const HOSTS = ["instances.host", "services.host", "compute_nodes.host", "aggregate_hosts.host"];

/**
 * What the plan writes, in columns that would refuse it in the middle of the window, or spoil it. The
 * name of a host is written to others by its nova-compute, and MySQL compares none with what it cannot
 * hold (1270).
 */
function lost(texts: readonly StoredText[], written: readonly OddText[]): CheckResult {
  const bad = written.flatMap((odd) => {
    const place = placeOf(odd);
    const places = HOSTS.includes(place) ? HOSTS : [place];
    return texts
      .filter((text) => places.includes(placeOf(text)) && BEYOND[text.charset]?.test(odd.value))
      .map((text) => ({ text, value: odd.value }));
  });
  const wide = bad.some(({ value }) => BEYOND.utf8mb3?.test(value));
  return resultOf(
    [...new Set(bad.map(({ text, value }) => `${shown(text)} ${JSON.stringify(value)}`))],
    "texts of the plan do not fit the charset of a column in nova",
    fix(
      bad.map(({ text }) => text),
      wide ? "utf8mb4" : "utf8mb3",
    ),
  );
}

/** Text that no Unicode column holds: right as it stands, or in bytes of another charset. */
function garbled(texts: readonly StoredText[], option: string): CheckResult {
  const odd = texts.filter((text) => text.odd > 0 && !isUtf8(text.charset));
  return resultOf(
    odd.map((text) => `${shown(text)} in ${text.odd} rows`),
    `columns behind ${option} hold text that is not plain ASCII in a charset that is no Unicode, and may be garbled`,
    `SELECT it over a connection of utf8mb4 and correct what reads wrong, or a record and nova's own search have it so; then ${fix(odd, "utf8mb3")}`,
    "Warning",
  );
}

/**
 * MySQL compares columns of two charsets where one holds the other, and of two collations of a
 * charset only where one is binary: else "Illegal mix of collations" (1267).
 */
function apart(texts: readonly StoredText[]): CheckResult {
  const hosts = texts.filter((text) => HOSTS.includes(placeOf(text)));
  const [first] = hosts;
  const mixed = hosts.flatMap((text) =>
    hosts.some((other) => other.charset === text.charset && !comparable(text, other)) ? [text] : [],
  );
  const target = first?.own?.collation;
  return resultOf(
    mixed.map((text) => `${placeOf(text)} ${text.own?.collation}`),
    "columns of host names have several collations of one charset, which MySQL refuses to join",
    mixed
      .filter(({ own }) => own?.collation !== target)
      .map((text) => modify(text, `${text.charset} COLLATE ${target}`))
      .join("; "),
    "Warning",
  );
}

function comparable({ own: one }: StoredText, { own: other }: StoredText): boolean {
  if (one === null || other === null || one.collation === other.collation) return true;
  return [one, other].some(({ collation }) => collation.endsWith("_bin"));
}

/** PostgreSQL has one encoding a database. MySQL converts no table whole whose keys are foreign ones. */
function fix(texts: readonly StoredText[], charset: string): string {
  return texts.some(({ own }) => own === null)
    ? "move the database to one of ENCODING 'UTF8': pg_dump, createdb -E UTF8, pg_restore"
    : [...new Set(texts.map((text) => modify(text, charset)))].join("; ");
}

/** What MODIFY does not say of a column, it loses. */
function modify({ table, column, own }: StoredText, charset: string): string {
  const rest = own?.nullable === false ? " NOT NULL" : "";
  return `ALTER TABLE ${table} MODIFY \`${column}\` ${own?.type} CHARACTER SET ${charset}${rest}`;
}

function placeOf({ table, column }: Pick<StoredText, "table" | "column">): string {
  return `${table}.${column}`;
}

function shown(text: StoredText): string {
  return `${placeOf(text)} (${text.charset})`;
}
