import { MigrationError } from "../lib/error.ts";
import { listed, NAMES } from "../lib/text.ts";
import { openBackend, type TargetOptions } from "../migrate/open/backend.ts";
import { loadMappings } from "../migrate/open/documents.ts";
import type { ServerIdentity } from "../model/artefact.ts";
import type { SkippedRow } from "../model/change.ts";
import type { NodeTenant, PlannedMove } from "../model/nova/host-move.ts";
import type { NovaIdentity } from "../model/nova/nova-plan.ts";
import { hasMovedToApi } from "../model/nova/nova-release.ts";
import { hasLogin } from "../run/cloud.ts";
import { type Keep, openRole } from "../run/databases.ts";
import type { MovePlan } from "../run/host-files.ts";
import type { Database } from "../systems/database/open.ts";
import { valuesBy } from "../systems/database/read.ts";
import { readAggregates } from "../systems/nova-db/check.ts";
import { AGGREGATES, mayRead, privileges } from "../systems/nova-db/host-rights.ts";
import { hostMappings, hypervisorTypes, openMachines } from "../systems/nova-db/machines.ts";
import {
  HOSTS,
  identifyNova,
  identifyNovaApi,
  MOVED_TABLES,
} from "../systems/nova-db/plan-open.ts";
import { readServices } from "../systems/nova-db/services.ts";
import type { MoveFacts, MoveRequest } from "./rules/move-hosts.ts";
import { createMoves } from "./rules/moves.ts";

type Hosts = ReturnType<ReturnType<typeof createMoves>["hosts"]>;

/** The machines of one variant with open databases, for operations on both variants. */
export interface MoveTarget {
  readonly variant: "ironic" | "baremetal";
  readonly database: Database;
  readonly identity: NovaIdentity;
  readonly source?: ServerIdentity;
  /** nova_bm with leases, in autocommit mode. */
  readonly leases?: Database;
  readonly readFacts: () => Promise<MoveFacts>;
  /** The part of `readFacts` that an agent reads often, without compute nodes. */
  readonly aggregates: () => Promise<MoveFacts["aggregates"]>;
  /** Reads the instance of each Ironic node; null if Ironic was not specified. */
  readonly tenants: ((nodes: readonly string[]) => Promise<ReadonlyMap<string, NodeTenant>>) | null;
  readonly planner: (
    facts: MoveFacts,
    request: MoveRequest,
  ) => Promise<{
    /** In pages. @throws MigrationError N2I-E306 for a machine that does not exist */
    readonly machines: (scope: HostOptions) => AsyncIterable<readonly PlannedMove[]>;
    readonly hosts: (from: readonly string[]) => Hosts | Promise<Hosts>;
  }>;
}

/** Options of the commands of this feature, with their option names. */
export interface HostOptions extends TargetOptions {
  readonly novaDb?: string;
  readonly novaApiDb?: string;
  readonly novaBmDb?: string;
  readonly from?: string;
  readonly node?: readonly string[];
  readonly to?: readonly string[];
  readonly site?: string;
  readonly forceAggregates?: boolean;
  readonly novaConf?: string;
  readonly serviceDownTime?: number;
  readonly tftpRoot?: string;
  readonly tftpFrom?: readonly string[];
  /** `NODE=UUID`. */
  readonly rootUuid?: readonly string[];
  /** Address of this host for booting machines. */
  readonly myIp?: string;
}

export interface HostMoved {
  readonly manifest: MovePlan["manifest"];
  readonly blocked: number;
  readonly fenced: number;
  /** Changed rows, and rows that had been changed before; for nova-baremetal, machines. */
  readonly made: number;
  readonly found: number;
  /** Machines that another user or service changed since the plan. */
  readonly skipped: readonly SkippedRow[];
  readonly stopped: boolean;
}

/**
 * @param asksIronic false if the login is for other services
 * @throws MigrationError N2I-E206 with the missing GRANTs, before the first write, N2I-E202 and
 * N2I-E203 for the wrong database
 */
export async function openHostClients(
  options: HostOptions,
  keep: Keep,
  { readOnly, asksIronic = true }: { readonly readOnly: boolean; readonly asksIronic?: boolean },
  report: (text: string) => void,
): Promise<MoveTarget & { readonly variant: "ironic" }> {
  const { novaDb, novaApiDb } = options;
  const database = keep(await openRole("nova-db", novaDb, { readOnly }));
  await privileges(database, readOnly);
  const identity = await identifyNova(database, MOVED_TABLES);
  const api =
    novaApiDb === undefined
      ? null
      : keep(await openRole("nova-api-db", novaApiDb, { readOnly: true }));
  if (api !== null) {
    await mayRead(api, Object.keys(HOSTS));
    await identifyNovaApi(api, HOSTS);
  }
  const inApi = hasMovedToApi(identity.schema_version);
  if (!inApi) await mayRead(database, AGGREGATES);
  const tenants = asksIronic ? await openTenantsOf(options, keep, report) : null;
  const aggregates = async (): Promise<MoveFacts["aggregates"]> => {
    const members = inApi
      ? api && (await readAggregates(api, "nova_api"))
      : await readAggregates(database);
    return members && valuesBy(members, "host", "id");
  };
  return {
    ...{ variant: "ironic", database, identity, tenants, aggregates },
    async readFacts() {
      // Concurrently, on a second connection next to the open transaction.
      const all = [readServices(database), hypervisorTypes(database)] as const;
      const [hosts, types] = await Promise.all(all);
      const mappings = api === null ? undefined : await hostMappings(api);
      return { identity, hosts, types, mappings, aggregates: await aggregates() };
    },
    async planner(facts, request) {
      const moves = createMoves(facts, request);
      const machines = await openMachines(database);
      return {
        async *machines(scope) {
          for await (const { nodes, from } of chosen(machines, scope)) {
            const tenantsByNode = await tenants?.(nodes);
            yield (await machines.of(nodes)).map((machine) =>
              moves.machine(machine, from ?? hostOf(machine), tenantsByNode?.get(machine.node)),
            );
          }
        },
        hosts: moves.hosts,
      };
    },
  };
}

type Machines = Awaited<ReturnType<typeof openMachines>>;

async function* chosen(
  machines: Machines,
  { from, node = [] }: HostOptions,
): AsyncGenerator<{ readonly nodes: readonly string[]; readonly from: string | null }> {
  if (from !== undefined) {
    for await (const nodes of machines.owned(from)) yield { nodes, from };
    return;
  }
  const nodes = [...new Set(node.map((uuid) => uuid.toLowerCase()))];
  const unknown = (await machines.of(nodes)).filter(
    ({ computes, instances }) => computes.length + instances.length === 0,
  );
  if (unknown.length > 0)
    throw new MigrationError(
      "N2I-E306",
      `Nova has no live compute node of ${listed(
        unknown.map((one) => one.node),
        NAMES,
      )}`,
      { fix: "List the machines with: nova2ironic host list" },
    );
  yield { nodes, from: null };
}

/** The host of a machine: that of its instance, which the compute node follows. */
function hostOf({ computes, instances }: Awaited<ReturnType<Machines["of"]>>[number]): string {
  return instances[0]?.host ?? computes[0]?.owner ?? "";
}

async function openTenantsOf(
  options: HostOptions,
  keep: Keep,
  report: (text: string) => void,
): Promise<MoveTarget["tenants"]> {
  const { ironicDb, ironicUrl } = options;
  if (ironicDb === undefined && ironicUrl === undefined && !hasLogin(options)) return null;
  const rest = ironicDb === undefined && { via: "rest" as const };
  const backend = keep(
    await openBackend({ ...options, ...rest }, await loadMappings(), { readOnly: true }, report),
  );
  const { guard } = await backend.guard(undefined);
  return async (nodes) => {
    const found = await guard.observe(nodes.map((node) => node.toLowerCase()));
    return new Map(nodes.map((node) => [node, found.get(node.toLowerCase()) ?? null]));
  };
}
