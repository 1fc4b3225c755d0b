import { counted, listed, NAMED, type Several, shellArgument } from "../../lib/text.ts";
import type { Tally } from "../../migrate/verify/rules/tally.ts";
import type { PlanCounts } from "../../model/artefact.ts";
import type { DatabaseAddress } from "../../model/database.ts";
import { isLeaseTable, LEASE_TABLES } from "../../model/nova/leases.ts";

export const NO_NOVA = "the plan changes Nova, but its location is missing: specify --nova-db";

/** Tables of nova_bm and of leases in drop order. The one that identifies the database is last. */
const DROPPED: readonly string[] = [
  ...["bm_boot_records", "bm_locks", "bm_service_leases"],
  "bm_deployments",
  "bm_pxe_ips",
  "bm_interfaces",
  "bm_nodes",
  "migrate_version",
];

/** Tables that show that another service uses the same database. */
const OTHERS = ["instances", "compute_nodes", "nodes", "conductors", "flavors"];

/** Each condition for dropping nova_bm is the reason why it fails, or null if it holds. */
type Reason = string | null;

/** @param skipped machines that the site document skips, without soft-deleted ones */
export function notLoaded({ verdicts }: PlanCounts, skipped: number): Reason {
  const kinds = [
    [verdicts.blocked, "blocked"],
    [verdicts.conflict, "in conflict"],
    [skipped, "skipped by the site document"],
  ] as const;
  const out = kinds.flatMap(([count, what]) => (count === 0 ? [] : [`${count} ${what}`]));
  return out.length === 0 ? null : `${out.join(", ")}: only nova_bm has them`;
}

/** @param handover of a staged load. Null: it was not staged */
export function waiting(
  handover: { readonly staged: number; readonly released: number } | null,
  { staged }: Pick<Tally, "staged">,
): Reason {
  const waits = Math.max(staged, handover === null ? 0 : handover.staged - handover.released);
  return waits === 0 ? null : `${counted(waits, "machine waits", "machines wait")} for handover`;
}

/** @param noNova the plan has Nova, and its location is missing */
export function differing(equal: boolean, rows: Several, noNova: boolean): Reason {
  const named = rows.length === 0 ? "rows of Nova" : listed(rows, NAMED);
  const wrong = equal ? [] : [`not as planned: ${named}; run verify`];
  return [...wrong, ...(noNova ? [`Nova was not compared: ${NO_NOVA}`] : [])].join("; ") || null;
}

/** @param repositories in migrate_version */
export function otherServices(tables: readonly string[], repositories: readonly string[]): Reason {
  const others = tables.filter((name) => OTHERS.includes(name));
  const foreign = repositories.filter((name) => name !== "nova_bm");
  const found = [
    ...(others.length > 0 ? [`tables ${listed(others, NAMED)}`] : []),
    ...(foreign.length > 0 ? [`schema versions of ${listed(foreign, NAMED)}`] : []),
  ];
  return found.length === 0 ? null : `it also has tables of another service: ${found.join(", ")}`;
}

/** The command that dumps a database, with its password in a file for the operator only. */
export function dumpCommand(address: DatabaseAddress): string {
  const { engine, host, port, socket, user, database, filename } = address;
  if (engine === "sqlite")
    return `sqlite3 ${shellArgument(filename ?? database)} ".backup nova_bm.sqlite"`;
  const option = (name: string, value: string | number | null): readonly string[] =>
    value === null ? [] : [`--${name}=${shellArgument(String(value))}`];
  const at =
    engine === "mysql"
      ? [...option("host", host), ...option("port", port), ...option("socket", socket)]
      : [...option("host", host ?? socket), ...option("port", port)];
  const words =
    engine === "mysql"
      ? [
          "mysqldump --defaults-extra-file=nova_bm.cnf",
          ...[...at, ...option("user", user)],
          "--single-transaction --hex-blob --result-file=nova_bm.sql",
        ]
      : [
          "PGPASSFILE=nova_bm.pgpass pg_dump",
          ...[...at, ...option("username", user)],
          "--no-owner --file=nova_bm.sql",
        ];
  return ["umask 077;", ...words, shellArgument(database)].join(" ");
}

interface TableName {
  readonly name: string;
  readonly columns: readonly { readonly name: string }[];
}

/** Statements that drop the tables of nova_bm and of leases, but no tables of other owners. */
export function dropStatements(tables: readonly TableName[]): readonly string[] {
  const isDroppable = ({ name, columns }: TableName): boolean =>
    !(name in LEASE_TABLES) ||
    isLeaseTable(
      name,
      columns.map((column) => column.name),
    );
  const own = tables.filter(isDroppable).map(({ name }) => name);
  return DROPPED.filter((name) => own.includes(name)).map((name) => `DROP TABLE ${name};`);
}
