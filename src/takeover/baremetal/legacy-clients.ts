import { MigrationError } from "../../lib/error.ts";
import { listed, NAMES } from "../../lib/text.ts";
import type { ServerIdentity } from "../../model/artefact.ts";
import type { Privileges, Verb } from "../../model/database.ts";
import type { LegacyMove, LegacyNode } from "../../model/nova/legacy-move.ts";
import { type Keep, openRole } from "../../run/databases.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { pick } from "../../run/next.ts";
import { withSaved } from "../../run/saved-options.ts";
import { identify } from "../../systems/database/identity.ts";
import type { Database } from "../../systems/database/open.ts";
import { readSchema } from "../../systems/nova-bm/open.ts";
import { mayRead, needRights } from "../../systems/nova-db/host-rights.ts";
import {
  legacyTenants,
  legacyTies,
  NETWORKS,
  needLegacyColumns,
  networkHosts,
  openFreshComputes,
} from "../../systems/nova-db/legacy.ts";
import { openMachines } from "../../systems/nova-db/machines.ts";
import { readLeases } from "../leases/leases.ts";
import { nodesById, nodesByUuid, nodesOf } from "../leases/nodes.ts";
import { needLeases } from "../leases/schema.ts";
import { createLegacyMoves } from "../rules/legacy.ts";
import type { LegacyNow } from "../rules/legacy-states.ts";
import { type HostOptions, type MoveTarget, openHostClients } from "../target.ts";
import { openBoots } from "./legacy-boots.ts";
import { openPorts } from "./legacy-ports.ts";

type Boots = Awaited<ReturnType<typeof openBoots>>;

export interface LegacyClients extends MoveTarget {
  readonly variant: "baremetal";
  /** nova_bm with leases, in autocommit mode. */
  readonly leases: Database;
  readonly source: ServerIdentity;
  readonly read: (moves: readonly LegacyMove[]) => Promise<readonly LegacyNow[]>;
  /** As `read`, for these machines (bm_nodes.uuid), with newly read compute nodes. */
  readonly readerOf: (nodes: readonly string[]) => Promise<LegacyClients["read"]>;
  readonly boots: Boots;
  readonly ports: ReturnType<typeof openPorts>;
}

/** @throws MigrationError N2I-E206 with missing GRANTs, N2I-E360 if nova_bm is not extended */
export async function openLegacyClients(
  options: HostOptions,
  keep: Keep,
  { readOnly }: { readonly readOnly: boolean },
  report: (text: string) => void,
): Promise<LegacyClients> {
  const { novaBmDb } = options;
  // Machines of nova-baremetal are not in Ironic.
  const how = { readOnly, asksIronic: false };
  const nova = await openHostClients(pick(options, ["nova-db", "nova-api-db"]), keep, how, report);
  await needLegacyColumns(nova.database);
  const leases = keep(await openRole("nova-bm-db", novaBmDb, { readOnly, autocommit: !readOnly }));
  await readSchema(leases);
  await needLeases(leases);
  await needRights(leases, rights(readOnly));
  // MySQL hides unreadable tables, and a missing table counts as empty.
  await mayRead(nova.database, ["block_device_mapping", ...NETWORKS]);
  const opening = { leases, nova: nova.database, keep, report };
  const boots = await openBoots(options, opening);
  return {
    ...{ ...nova, variant: "baremetal", leases, source: await identify(leases) },
    read: await createReader(nova.database, leases),
    readerOf: (nodes) => createReader(nova.database, leases, nodes),
    boots,
    ports: openPorts(options, opening, boots.myIp),
    planner: legacyPlanner(nova.database, leases, boots),
  };
}

const WHERE: readonly string[] = [
  ...["nova-bm-db", "nova-db", "nova-api-db", "os-cloud", "os-cacert", "insecure", "api-timeout"],
  "my-ip",
];

const FILES: readonly string[] = ["nova-conf", "tftp-root", "tftp-from", "root-uuid"];

/**
 * With the options of earlier commands, which only runs for nova-baremetal use.
 *
 * @param files false for read-only commands and rollback, which read the tree from the journal
 */
export async function savedOptions(
  variant: MoveTarget["variant"],
  run: RunFolder,
  options: HostOptions,
  { files = false } = {},
): Promise<HostOptions> {
  if (variant === "ironic") return options;
  const all = await withSaved(run, [...WHERE, ...FILES], options);
  return files ? all : pick(all, WHERE);
}

const SELECT: ReadonlySet<Verb> = new Set(["SELECT"]);

function rights(readOnly: boolean): Privileges {
  const verbs = (...more: readonly Verb[]): ReadonlySet<Verb> =>
    readOnly ? SELECT : new Set(["SELECT", ...more]);
  return new Map([
    ["bm_nodes", verbs("UPDATE")],
    ["bm_interfaces", SELECT],
    ["bm_locks", verbs("INSERT", "UPDATE")],
    ["bm_service_leases", verbs("UPDATE")],
    ["bm_boot_records", SELECT],
  ]);
}

async function createReader(
  nova: Database,
  leases: Database,
  some?: readonly string[],
): Promise<LegacyClients["read"]> {
  const computesOf = await openFreshComputes(nova, some);
  return async (moves) => {
    const nodes = await nodesById(
      leases,
      moves.map(({ id }) => id),
    );
    const tenants = await legacyTenants(
      nova,
      moves.flatMap(({ tenant }) => tenant?.uuid ?? []),
    );
    const computes = await computesOf(moves.map(({ uuid }) => uuid));
    return moves.map((move) => ({
      ...{ move, node: nodes.get(move.id) ?? null },
      tenant: (move.tenant && tenants.get(move.tenant.uuid.toLowerCase())) ?? null,
      computes: computes.get(move.uuid.toLowerCase()) ?? [],
    }));
  };
}

function legacyPlanner(database: Database, leases: Database, boots: Boots): MoveTarget["planner"] {
  return async (nova, request) => {
    const hosts = nova.hosts.map(({ host }) => host);
    const networks = await networkHosts(database, hosts);
    const facts = { ...nova, networks, leases: await readLeases(leases) };
    const moves = createLegacyMoves(facts, request);
    const machines = await openMachines(database);
    return {
      async *machines(scope) {
        for await (const nodes of chosen(leases, scope))
          yield (await foundOf(nodes, database, machines, boots)).map(moves.machine);
      },
      async hosts(from) {
        const { oldHosts, findings } = moves.hosts(from);
        // The lease is the fence.
        return { oldHosts, findings: [...findings, ...(await boots.shared())], fence: [] };
      },
    };
  };
}

/** The selected machines in pages. @throws MigrationError N2I-E306 */
async function* chosen(
  leases: Database,
  { from, node = [] }: HostOptions,
): AsyncGenerator<readonly LegacyNode[]> {
  if (from !== undefined) {
    yield* nodesOf(leases, from);
    return;
  }
  const nodes = await nodesByUuid(leases, node);
  const existing = new Set(nodes.map(({ uuid }) => uuid.toLowerCase()));
  const unknown = node.filter((uuid) => !existing.has(uuid.toLowerCase()));
  if (unknown.length > 0)
    throw new MigrationError("N2I-E306", `nova_bm has no live machine ${listed(unknown, NAMES)}`, {
      fix: "List the machines with: nova2ironic host list",
    });
  yield nodes;
}

async function foundOf(
  nodes: readonly LegacyNode[],
  database: Database,
  machines: Awaited<ReturnType<typeof openMachines>>,
  boots: Boots,
) {
  const uuids = nodes.flatMap(({ instance_uuid }) => instance_uuid ?? []);
  const tenants = await legacyTenants(database, uuids);
  const booting = nodes.flatMap(({ id, uuid, instance_uuid: instance, service_host }) => {
    if (instance === null) return [];
    const from = service_host ?? "";
    return [
      { id, uuid, instance, hosts: [from, tenants.get(instance.toLowerCase())?.host ?? from] },
    ];
  });
  const findings = await boots.findings(booting);
  const ties = await legacyTies(database, uuids);
  const owned = await machines.of(nodes.map(({ uuid }) => uuid));
  return nodes.flatMap((node, at) => {
    const machine = owned[at];
    const key = node.instance_uuid?.toLowerCase() ?? "";
    if (machine === undefined) return [];
    return [
      {
        ...{ node, tenant: tenants.get(key) ?? null, owned: machine },
        volumes: ties.volumes.get(key) ?? [],
        architecture: ties.architectures.get(key) ?? null,
        boot: findings.get(node.id) ?? [],
      },
    ];
  });
}
