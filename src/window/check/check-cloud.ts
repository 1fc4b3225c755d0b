import { MigrationError } from "../../lib/error.ts";
import type { CheckView, NovaFacts, PlanFacts, Refused } from "../../model/check.ts";
import { cloudFor, type RestOptions } from "../../run/cloud.ts";
import type { ROLES } from "../../run/databases.ts";
import type { Database } from "../../systems/database/open.ts";
import { ungranted } from "../../systems/database/rights.ts";
import { NOVA_API_TABLES, NOVA_TABLES } from "../../systems/nova-db/plan-open.ts";
import { REQUEST_TABLES } from "../../systems/nova-db/requests.ts";
import { imageStatuses } from "../../systems/openstack/glance-images.ts";

/** Seconds for a call to Glance. */
const LIMIT = 60;

/** Deploy images and images of instances. A failure of Glance becomes a row. */
export async function askGlance(
  options: RestOptions,
  plan: PlanFacts | null,
  nova: NovaFacts | Refused | null,
): Promise<CheckView["glance"]> {
  const ids = new Set([...(plan?.images ?? []), ...(plan?.made ?? [])]);
  for (const { deleted, image } of nova === null || "refused" in nova ? [] : nova.instances)
    if (!deleted && image !== null) ids.add(image);
  try {
    return await imageStatuses(cloudFor(options), LIMIT * 1000, [...ids]);
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    return { refused: { code: error.code, message: error.message, fix: error.fix } };
  }
}

/** Refusals that are shown as table rows, because the database did respond. */
const FACTS: ReadonlySet<string> = new Set([
  ...["N2I-E202", "N2I-E203", "N2I-E204", "N2I-E206", "N2I-E208"],
]);

/** Tables to read in each database. Some releases lack some of them. */
const READ: { readonly [role in keyof typeof ROLES]?: readonly string[] } = {
  "nova-bm-db": ["bm_nodes", "bm_interfaces"],
  "nova-db": [
    ...NOVA_TABLES,
    ...REQUEST_TABLES,
    ...["aggregates", "migrations", "instance_system_metadata", "instance_extra"],
  ],
  "ironic-db": ["alembic_version", "nodes", "ports", "conductors"],
  "nova-api-db": [...NOVA_API_TABLES, "instance_mappings", "aggregates", "aggregate_hosts"],
  "placement-db": ["allocations", "resource_providers"],
};

/** The facts of a database, or its refusal, with a GRANT for each missing privilege. */
export async function orMissingReason<T>(
  role: keyof typeof ROLES,
  database: Database,
  work: () => Promise<T>,
): Promise<T | Refused> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof MigrationError && FACTS.has(error.code))) throw error;
    const { code, message, fix } = error;
    const privileges = new Map(
      (READ[role] ?? []).map((table) => [table, new Set(["SELECT"] as const)]),
    );
    const grants = code === "N2I-E206" ? (await ungranted(database, privileges)).grants : [];
    return { refused: { code, message, fix: grants.length > 0 ? grants.join("; ") : fix } };
  }
}
