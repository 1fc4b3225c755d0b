import { MigrationError } from "../../lib/error.ts";
import type { TargetIdentity } from "../../model/artefact.ts";
import type { IronicFacts } from "../../model/check.ts";
import type { Ungranted, Verb } from "../../model/database.ts";
import { isOwned } from "../../model/handover.ts";
import type { Release } from "../../model/ironic/target.ts";
import type { Heads } from "../../model/mapping.ts";
import { alembicHead, columnNames, identify, tableNames } from "../database/identity.ts";
import type { Database } from "../database/open.ts";
import { inOrder, sql } from "../database/read.ts";
import { ungranted } from "../database/rights.ts";
import { ask, isTrue, string, text } from "../database/rows.ts";
import { MARK } from "./codec.ts";
import { TRAITS } from "./current.ts";
import { readService } from "./handover.ts";
import { scannedKeys } from "./remove.ts";

/** The narrowest charset of the written columns. PostgreSQL and SQLite store all characters. */
async function charsetOf(database: Database): Promise<string> {
  if (database.engine !== "mysql") return "utf8";
  const sql =
    "SELECT DISTINCT character_set_name AS name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name IN ('nodes', 'ports') AND character_set_name IS NOT NULL ORDER BY 1";
  const names = (await ask(database, "reading charsets", sql)).map(({ name }) => string(name));
  // utf8 is utf8mb3 before MariaDB 10.6 and MySQL 8.0.28.
  return names.find((name) => name !== "utf8mb4")?.replace(/^utf8$/, "utf8mb3") ?? "utf8mb4";
}

/**
 * @param requested release, if several have the same head
 * @throws MigrationError N2I-E202 for another database, N2I-E204 for an unknown or unsupported head
 *   or other columns, N2I-E208 if `requested` does not decide
 */
export async function identifyTarget(
  database: Database,
  supported: SupportedReleases,
  requested?: string,
): Promise<{ readonly identity: TargetIdentity; readonly release: Release }> {
  const tables = await tableNames(database);
  const missing = ["nodes", "ports", "alembic_version"].filter((table) => !tables.has(table));
  if (missing.length > 0)
    throw new MigrationError(
      "N2I-E202",
      `--ironic-db ${database.label} is not an Ironic database: it has no ${missing.join(", ")}${tables.has("bm_nodes") ? "; it is a nova_bm database" : ""}`,
    );
  const head = (await alembicHead(database)) ?? "";
  const release = releaseOf(head, supported, database.label, requested);
  for (const [table, columns] of [
    ["nodes", release.node],
    ["ports", release.port],
  ] as const) {
    const existing = await columnNames(database, table);
    const missing = columns.filter(({ name }) => !existing.includes(name)).map(({ name }) => name);
    const more = existing.filter((name) => !columns.some((column) => column.name === name));
    if (missing.length + more.length > 0)
      throw new MigrationError(
        "N2I-E204",
        `--ironic-db ${database.label}: ${table} does not match ${release.doc.release}: it lacks ${missing.join(", ") || "nothing"}, and also has ${more.join(", ") || "nothing"}`,
      );
  }
  return {
    release,
    identity: {
      ...(await identify(database)),
      alembic_head: head,
      release: release.doc.release,
      charset: await charsetOf(database),
    },
  };
}

interface SupportedReleases {
  /** Oldest first. */
  readonly releases: readonly Release[];
  readonly heads: Heads;
}

function advice(head: string, { releases, heads: { older, steps, newer } }: SupportedReleases) {
  const oldest = releases[0]?.doc.release ?? "none";
  const newest = releases.at(-1)?.doc.release ?? "none";
  if (older.heads.includes(head))
    return {
      is: `${older.release}, which ${older.why}`,
      fix: `Upgrade Ironic to ${oldest} or later with its own ironic-dbsync, then run plan again.`,
    };
  const [on] = Object.entries(steps).find(([, revisions]) => revisions.includes(head)) ?? [];
  if (on !== undefined)
    return {
      is: `an intermediate step of the upgrade to ${on}: an interrupted upgrade, or an unreleased version`,
      fix: `Complete the upgrade with ironic-dbsync upgrade of ${on}, then run plan again.`,
    };
  if (newer.includes(head))
    return {
      is: `newer than ${newest}`,
      fix: `Load into Ironic ${newest} or earlier, and upgrade it afterwards.`,
    };
  return { is: "unknown here" };
}

/**
 * @throws MigrationError N2I-E204 without a supported release, N2I-E208 if `requested` does not decide
 */
function releaseOf(
  head: string,
  supported: SupportedReleases,
  label: string,
  requested: string | undefined,
): Release {
  const sameHead = supported.releases.filter(({ doc }) => doc.alembic_head === head);
  const [only, ...rest] = sameHead;
  if (only === undefined) {
    const { is, fix } = advice(head, supported);
    throw new MigrationError(
      "N2I-E204",
      `--ironic-db ${label} is at alembic head ${head || "none"} (${is}); supported are ${supported.releases.map(({ doc }) => `${doc.release} ${doc.alembic_head}`).join(", ")}`,
      fix === undefined ? {} : { fix },
    );
  }
  const matching = sameHead.find(({ doc }) => doc.release === requested);
  if (rest.length === 0) return only;
  if (matching !== undefined) return matching;
  const names = sameHead.map(({ doc }) => doc.release);
  throw new MigrationError(
    "N2I-E208",
    `--ironic-db ${label} is at alembic head ${head}, which ${names.join(", ")} share`,
    { fix: `Find the release (ironic-conductor --version), then pass --ironic-release.` },
  );
}

/** @throws MigrationError N2I-E208 if the release differs from --ironic-release */
export function expectRelease({ doc }: Release, requested: string | undefined): void {
  if (requested !== undefined && requested !== doc.release)
    throw new MigrationError(
      "N2I-E208",
      `--ironic-release is ${requested}, but the database is at alembic head ${doc.alembic_head}, which is ${doc.release}`,
      { fix: "Compare --ironic-db and --ironic-release." },
    );
}

/**
 * @param writing a writable session on the database, for MySQL's privileges
 * @param requested release, if several have the same alembic head
 * @param traits whether the load writes traits
 * @throws MigrationError N2I-E202, N2I-E204, N2I-E206, N2I-E208
 */
export async function checkIronic(
  database: Database,
  writing: Database,
  supported: SupportedReleases,
  requested: string | undefined,
  traits: boolean,
): Promise<{ readonly facts: IronicFacts; readonly release: Release }> {
  const { identity, release } = await identifyTarget(database, supported, requested);
  const stages = release.node.some(({ name }) => name === "maintenance_reason");
  const reason = stages ? "maintenance_reason" : "NULL";
  const node = {
    ...{ uuid: string, instance_uuid: text, maintenance: isTrue, reason: sql(reason, text) },
    // For all nodes, so the content of `extra` must not be kept in memory.
    ...{
      power_state: text,
      marked: sql(`CASE WHEN extra LIKE '${MARK}' THEN 1 ELSE 0 END`, isTrue),
    },
  };
  const nodes: IronicFacts["nodes"][number][] = [];
  for await (const rows of inOrder(database, node, "nodes", "1 = 1"))
    for (const { reason, ...row } of rows)
      nodes.push({ ...row, staged: isOwned(row.maintenance, reason) });
  const { conductors } = await readService(database, release);
  const names = supported.releases.map(({ doc }) => doc.release);
  const until = (name: string): boolean =>
    names.indexOf(release.doc.release) <= names.indexOf(name);
  return {
    release,
    facts: {
      release: identity.release,
      local: release.doc.boot === "local",
      ...{ flavored: until("kilo"), clustered: until("mitaka"), cells: !until("newton") },
      stages,
      forbidden: await forbidden(writing, release, traits),
      conductors,
      keys: await scannedKeys(writing),
      nodes,
    },
  };
}

const WRITTEN: readonly Verb[] = ["SELECT", "LOCK", "INSERT", "UPDATE", "DELETE"];

/** A rollback deletes a conductor's rows and checks for an operator's. */
async function forbidden(
  database: Database,
  { doc: { children } }: Release,
  traits: boolean,
): Promise<Ungranted> {
  const privileges: readonly (readonly [string, readonly Verb[]])[] = [
    ...["nodes", "ports"].map((table) => [table, WRITTEN] as const),
    ...children.conductor.map((table) => [table, ["SELECT", "DELETE"]] as const),
    ...children.operator.map((table) => [table, ["SELECT"]] as const),
    ...(traits ? [[TRAITS, ["SELECT", "INSERT", "DELETE"]] as const] : []),
  ];
  return ungranted(database, new Map(privileges.map(([table, verbs]) => [table, new Set(verbs)])));
}
