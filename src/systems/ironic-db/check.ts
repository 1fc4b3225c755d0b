import type { IronicFacts, NodeFacts } from "../../model/check.ts";
import type { Ungranted, Verb } from "../../model/database.ts";
import { isOwned } from "../../model/handover.ts";
import type { Release } from "../../model/ironic/target.ts";
import type { Database } from "../database/open.ts";
import { inOrder, sql } from "../database/read.ts";
import { ungranted } from "../database/rights.ts";
import { isTrue, string, text } from "../database/rows.ts";
import { MARK } from "./codec.ts";
import { scannedKeys } from "./indexes.ts";
import { identifyTarget, type SupportedReleases } from "./open.ts";
import { readService } from "./service.ts";
import { TRAITS } from "./traits.ts";

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
  const nodes: NodeFacts[] = [];
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
