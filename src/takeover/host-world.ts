import { groupedBy } from "../lib/grouped.ts";
import { openBackend, type TargetOptions } from "../migrate/open/backend.ts";
import { loadMappings } from "../migrate/open/documents.ts";
import type { NodeTenant } from "../model/nova/host-move.ts";
import type { NovaIdentity } from "../model/nova/nova-plan.ts";
import { hasApiAggregates } from "../model/nova/nova-release.ts";
import { saysCloud } from "../run/cloud.ts";
import { type Keep, keepYoungSmall, openRole } from "../run/databases.ts";
import type { Database } from "../systems/database/open.ts";
import { readAggregates } from "../systems/nova-db/check.ts";
import { AGGREGATES, mayRead, privileges } from "../systems/nova-db/host-rights.ts";
import { hostMappings, hypervisorTypes, openMachines } from "../systems/nova-db/machines.ts";
import {
  identifyNova,
  identifyNovaApi,
  MOVED_TABLES,
  PLACES,
} from "../systems/nova-db/plan-open.ts";
import { readComputeHosts } from "../systems/nova-db/services.ts";
import type { MoveWorld } from "./rules/move-hosts.ts";

/** Where everything is that a move looks at. */
export interface HostPlaces extends TargetOptions {
  readonly novaDb?: string;
  readonly novaApiDb?: string;
}

/** Asks Ironic which instance each node names; null where nothing says where it is. */
type AskTenants = (nodes: readonly string[]) => Promise<ReadonlyMap<string, NodeTenant>>;

/** Nova, and what else was given, open for the time of a command. */
export type HostPlace = Awaited<ReturnType<typeof openHostPlace>>;

/**
 * Opens Nova, and its API's database and Ironic where they are given.
 *
 * @param asksIronic false where a login is for other services: its machines are none of Ironic's
 * @throws MigrationError N2I-E206 with the GRANTs that are missing, before anything is written, N2I-E202
 *   and N2I-E203 for a database that is another than its option says
 */
export async function openHostPlace(
  words: HostPlaces,
  keep: Keep,
  { readOnly, asksIronic = true }: { readonly readOnly: boolean; readonly asksIronic?: boolean },
  say: (text: string) => void,
) {
  const { novaDb, novaApiDb } = words;
  const database = keep(await openRole("nova-db", novaDb, { readOnly }));
  keepYoungSmall();
  await privileges(database, readOnly);
  const identity = await identifyNova(database, MOVED_TABLES);
  const api =
    novaApiDb === undefined
      ? null
      : keep(await openRole("nova-api-db", novaApiDb, { readOnly: true }));
  if (api !== null) {
    await mayRead(api, Object.keys(PLACES));
    await identifyNovaApi(api, PLACES);
  }
  if (!hasApiAggregates(identity.schema_version)) await mayRead(database, AGGREGATES);
  return {
    ...{ database, identity },
    world: () => readMoveWorld(database, identity, api),
    /** Of all that the world is: who asks for no more, and often, walks through no compute nodes. */
    aggregates: () => readMembers(database, identity, api),
    machines: () => openMachines(database),
    tenants: asksIronic ? await openTenantsOf(words, keep, say) : null,
  };
}

async function readMoveWorld(
  database: Database,
  identity: NovaIdentity,
  api: Database | null,
): Promise<MoveWorld> {
  // At once: a connection more, which a move asks beside the transaction that it holds.
  const [hosts, types] = await Promise.all([readComputeHosts(database), hypervisorTypes(database)]);
  return {
    ...{ identity, hosts, types },
    mappings: api === null ? undefined : await hostMappings(api),
    aggregates: await readMembers(database, identity, api),
  };
}

/** Host -> its aggregates; null where they are in nova_api and that was not given. */
async function readMembers(
  database: Database,
  { schema_version }: NovaIdentity,
  api: Database | null,
): Promise<MoveWorld["aggregates"]> {
  const inApi = hasApiAggregates(schema_version);
  const members = inApi
    ? api && (await readAggregates(api, "nova_api"))
    : await readAggregates(database);
  return (
    members &&
    groupedBy(
      members,
      ({ host }) => host,
      ({ id }) => id,
    )
  );
}

async function openTenantsOf(
  words: HostPlaces,
  keep: Keep,
  say: (text: string) => void,
): Promise<AskTenants | null> {
  const { ironicDb, ironicUrl } = words;
  if (ironicDb === undefined && ironicUrl === undefined && !saysCloud(words)) return null;
  const rest = ironicDb === undefined && { via: "rest" as const };
  const backend = keep(
    await openBackend({ ...words, ...rest }, await loadMappings(), { readOnly: true }, say),
  );
  const { guard } = await backend.guard(undefined);
  return async (nodes) => {
    const found = await guard.observe(nodes.map((node) => node.toLowerCase()));
    return new Map(nodes.map((node) => [node, found.get(node.toLowerCase()) ?? null]));
  };
}
