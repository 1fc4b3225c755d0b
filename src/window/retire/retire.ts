import { createHash } from "node:crypto";
import { MigrationError } from "../../lib/error.ts";
import {
  counted,
  createSeveral,
  listed,
  NAMES,
  type Several,
  shellArgument,
} from "../../lib/text.ts";
import type { ConnectionOptions } from "../../migrate/flavors/flavor-api.ts";
import { novaPlanOf } from "../../migrate/hosts/nova-files.ts";
import { runningComputes } from "../../migrate/hosts/rules/running.ts";
import { isEqual, type Tally } from "../../migrate/verify/rules/used.ts";
import { openToVerify, type VerifyRequest, verifyRun } from "../../migrate/verify/verify.ts";
import { nameOfRow, type PlanCounts } from "../../model/artefact.ts";
import { type DatabaseAddress, differences } from "../../model/database.ts";
import type { BmInterface, Machine, SnapshotLine } from "../../model/machine.ts";
import { isLeaseTable, LEASE_TABLES } from "../../model/nova/leases.ts";
import type { Seal } from "../../model/secret.ts";
import { closing, openRole } from "../../run/databases.ts";
import { readJournal } from "../../run/files/journal.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { endOfRun } from "../../run/finished.ts";
import { inRun, openSnapshot, SNAPSHOT } from "../../run/run.ts";
import { type Sink, verdictsTo } from "../../run/sink.ts";
import { identify, tableNames } from "../../systems/database/identity.ts";
import type { Database } from "../../systems/database/open.ts";
import { ask, string } from "../../systems/database/rows.ts";
import { describeTables, readSchema } from "../../systems/nova-bm/open.ts";
import { readMachines } from "../../systems/nova-bm/read.ts";
import { hypervisorTypes } from "../../systems/nova-db/machines.ts";
import { identifyNova } from "../../systems/nova-db/plan-open.ts";
import { createNovaTarget } from "../../systems/nova-db/target.ts";
import { handoverOf } from "../runner/run-state.ts";

interface RetireOptions extends Omit<VerifyRequest, "allRows" | "final">, ConnectionOptions {
  readonly novaBmDb: string;
}

/**
 * Checks whether nova_bm may be dropped, and prints the commands that dump and drop it. Changes
 * nothing.
 * @throws MigrationError N2I-E340 with every condition that does not hold
 */
export function retire(options: RetireOptions, sink: Sink): Promise<void> {
  return inRun(options.run, "retire", { kind: "migration" }, (run) =>
    closing(async (keep) => {
      const bm = keep(await openRole("nova-bm-db", options.novaBmDb, { readOnly: true }));
      const request = { ...options, allRows: false, final: false };
      const shut = await failedConditions(run, bm, request, sink);
      if (shut.length > 0) throw new MigrationError("N2I-E340", shut.join("; "));
      sink.result("Dump nova_bm. The dump contains passwords:");
      sink.result(dumpCommand(bm.address));
      sink.result("When you no longer need a rollback, drop its tables:");
      for (const statement of dropStatements(await describeTables(bm))) sink.result(statement);
      sink.result("After that, restore the dump before you roll back.");
    }),
  );
}

/** The conditions for dropping nova_bm that do not hold, with the reasons. All are checked. */
async function failedConditions(
  run: RunFolder,
  bm: Database,
  request: VerifyRequest,
  sink: Sink,
): Promise<readonly string[]> {
  const { plan, seal } = await openToVerify(request);
  const snapshot = await openSnapshot(`${run.path}/${SNAPSHOT}`);
  const other = differences(snapshot.header.source.nova_bm, await identify(bm), []);
  if (other.length > 0)
    throw new MigrationError("N2I-E340", `a different nova_bm was read: ${other.join("; ")}`, {
      fix: "Specify the same --nova-bm-db as for extract.",
    });
  const { entries } = await readJournal(run);
  const end = await endOfRun(run);
  const hasNova = (await novaPlanOf(run, plan.footer)) !== null;
  const { novaDb, ...target } = request;
  const rows = createSeveral();
  const verifyOptions = { ...target, ...(hasNova && novaDb !== undefined && { novaDb }) };
  // verify itself lists them.
  const collecting = verdictsTo(sink, (verdict) => rows.add(nameOfRow(verdict)));
  const verified = await verifyRun(verifyOptions, collecting);
  let skipped = 0;
  for await (const batch of plan.lines())
    for (const { verdict, state } of batch)
      if (verdict === "skipped" && state.row !== "deleted") skipped += 1;
  const out = notLoaded(plan.footer.footer, skipped);
  const staged = waiting(await handoverOf(plan, entries), verified.tally);
  const wrong = differing(isEqual(verified), rows, hasNova && novaDb === undefined);
  const changed = await changedSinceExtract(snapshot.lines(), bm, seal);
  const conditions: readonly (readonly [string, string | null])[] = [
    ["the run is finished", end === null ? "finish has not ended it" : null],
    ["every machine is in Ironic", out],
    ["no machine is staged", staged],
    ["verify finds every row", wrong],
    [
      "nova_bm is unchanged since extract",
      changed.length === 0 ? null : `since extract ${listed(changed, NAMES)}`,
    ],
    ["the database has only the tables of nova_bm", await sharedBy(bm)],
    ["no nova-compute uses the baremetal driver", await runningLegacy(hasNova, novaDb)],
  ];
  return conditions.flatMap(([condition, reason]) =>
    reason === null ? [] : [`${condition}: no, ${reason}`],
  );
}

async function sharedBy(bm: Database): Promise<string | null> {
  const tables = [...(await tableNames(bm))];
  const versions = "SELECT DISTINCT repository_id AS name FROM migrate_version";
  const rows = tables.includes("migrate_version")
    ? await ask(bm, "reading migrate_version", versions)
    : [];
  const repositories = rows.map(({ name }) => string(name));
  return otherServices(tables, repositories);
}

/** @param hasNova the plan has Nova */
async function runningLegacy(hasNova: boolean, novaDb?: string): Promise<string | null> {
  if (novaDb === undefined) return hasNova ? NO_NOVA : null;
  return closing(async (keep) => {
    const nova = keep(await openRole("nova-db", novaDb, { readOnly: true }));
    const identity = await identifyNova(nova);
    const hosts = [...(await hypervisorTypes(nova))].flatMap(([host, types]) =>
      types.includes("baremetal") ? [host] : [],
    );
    const beats = await createNovaTarget(nova, identity).beats(hosts);
    const running = runningComputes(beats, beats);
    return running.length === 0 ? null : `nova-compute reported from ${listed(running, NAMES)}`;
  });
}

/** Machines and interfaces of nova_bm that differ from the snapshot. */
async function changedSinceExtract(
  lines: AsyncIterable<readonly SnapshotLine[]>,
  database: Database,
  seal: Seal,
): Promise<readonly string[]> {
  const extracted = new Map<string, string>();
  for await (const batch of lines)
    for (const line of batch)
      extracted.set(...("orphan" in line ? orphanOf(line.orphan) : machineOf(line)));
  const wrong: string[] = [];
  const check = ([name, digest]: readonly [string, string]): void => {
    const was = extracted.get(name);
    extracted.delete(name);
    if (was === undefined) wrong.push(`${name} was added`);
    else if (was !== digest) wrong.push(`${name} was changed`);
  };
  const schema = await readSchema(database);
  for await (const { machines, orphans } of readMachines(database, schema, seal)) {
    for (const orphan of orphans) check(orphanOf(orphan));
    for (const machine of machines) check(machineOf(machine));
  }
  return [...wrong, ...[...extracted.keys()].map((name) => `${name} is gone`)];
}

/** Without findings, which extract adds. */
function machineOf({ node, interfaces }: Machine): [string, string] {
  return [`bm_nodes.id=${node.id}`, digestOf({ node, interfaces })];
}

function orphanOf(orphan: BmInterface): [string, string] {
  return [`bm_interfaces.id=${orphan.id}`, digestOf(orphan)];
}

function digestOf(value: object): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("base64");
}

const NO_NOVA = "the plan changes Nova, but its location is missing: specify --nova-db";

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
const OTHER_TABLES = ["instances", "compute_nodes", "nodes", "conductors", "flavors"];

/** @param skipped machines that the site document skips, without soft-deleted ones */
export function notLoaded({ verdicts }: PlanCounts, skipped: number): string | null {
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
): string | null {
  const waits = Math.max(staged, handover === null ? 0 : handover.staged - handover.released);
  return waits === 0 ? null : `${counted(waits, "machine waits", "machines wait")} for handover`;
}

/** @param noNova the plan has Nova, and its location is missing */
export function differing(equal: boolean, rows: Several, noNova: boolean): string | null {
  const rowNames = rows.length === 0 ? "rows of Nova" : listed(rows, NAMES);
  const wrong = equal ? [] : [`not as planned: ${rowNames}; run verify`];
  return [...wrong, ...(noNova ? [`Nova was not compared: ${NO_NOVA}`] : [])].join("; ") || null;
}

/** @param repositories in migrate_version */
export function otherServices(
  tables: readonly string[],
  repositories: readonly string[],
): string | null {
  const others = tables.filter((name) => OTHER_TABLES.includes(name));
  const foreign = repositories.filter((name) => name !== "nova_bm");
  const found = [
    ...(others.length > 0 ? [`tables ${listed(others, NAMES)}`] : []),
    ...(foreign.length > 0 ? [`schema versions of ${listed(foreign, NAMES)}`] : []),
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
  const options =
    engine === "mysql"
      ? [
          "mysqldump --defaults-extra-file=nova_bm.cnf",
          ...[...option("host", host), ...option("port", port)],
          ...[...option("socket", socket), ...option("user", user)],
          "--single-transaction --hex-blob --result-file=nova_bm.sql",
        ]
      : [
          "PGPASSFILE=nova_bm.pgpass pg_dump",
          ...[...option("host", host ?? socket), ...option("port", port)],
          ...[...option("username", user), "--no-owner --file=nova_bm.sql"],
        ];
  return ["umask 077;", ...options, shellArgument(database)].join(" ");
}

/** Statements that drop the tables of nova_bm and of leases, but no tables of other owners. */
export function dropStatements(
  tables: Iterable<{
    readonly name: string;
    readonly columns: readonly { readonly name: string }[];
  }>,
): readonly string[] {
  const droppable = new Set<string>();
  for (const { name, columns } of tables) {
    const names = columns.map((column) => column.name);
    if (!(name in LEASE_TABLES) || isLeaseTable(name, names)) droppable.add(name);
  }
  return DROPPED.filter((name) => droppable.has(name)).map((name) => `DROP TABLE ${name};`);
}
