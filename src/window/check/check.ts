import { readdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { MigrationError } from "../../lib/error.ts";
import { readQueued, unreadQueues } from "../../migrate/hosts/nova-target.ts";
import { loadMappings } from "../../migrate/open/documents.ts";
import { pair } from "../../migrate/plan/rules/pairing.ts";
import type {
  BmFacts,
  CheckView,
  NovaFacts,
  PlacementFacts,
  PlanFacts,
  Provider,
  Refused,
  ServerFacts,
} from "../../model/check.ts";
import type { Privileges } from "../../model/database.ts";
import { cloudFor, type RestOptions } from "../../run/cloud.ts";
import { closing, type Keep, openRole, type ROLES } from "../../run/databases.ts";
import { freeSpace, openRun, type RunFolder } from "../../run/files/run-folder.ts";
import { rest } from "../../run/process-context.ts";
import { PLAN, SNAPSHOT } from "../../run/run.ts";
import type { Sink } from "../../run/sink.ts";
import { readServer } from "../../systems/database/identity.ts";
import type { Database } from "../../systems/database/open.ts";
import { ungranted } from "../../systems/database/rights.ts";
import { inPortions } from "../../systems/database/rows.ts";
import { checkIronic } from "../../systems/ironic-db/open.ts";
import { checkNovaBm } from "../../systems/nova-bm/open.ts";
import { checkNova } from "../../systems/nova-db/check.ts";
import {
  readApi,
  readClassless,
  readComputeUuids,
  readPlacement,
} from "../../systems/nova-db/later.ts";
import { NOVA_API_TABLES, NOVA_TABLES } from "../../systems/nova-db/plan-open.ts";
import { REQUEST_TABLES } from "../../systems/nova-db/requests.ts";
import { readServices } from "../../systems/nova-db/services.ts";
import { imageStatuses } from "../../systems/openstack/glance-images.ts";
import { paceOf } from "../handover/conductor-pace.ts";
import { createdByRun, planFacts } from "./check-run.ts";
import { type CheckRow, checkAll } from "./rules/checks.ts";

/** Systems to check, by option name. REST is for Glance. */
interface CheckRequest extends RestOptions {
  readonly run: string;
  readonly novaBmDb: string;
  readonly novaDb?: string;
  readonly ironicDb: string;
  /** For later Novas. */
  readonly novaApiDb?: string;
  readonly placementDb?: string;
  readonly glance: boolean;
  readonly ironicRelease?: string;
  readonly allowPairing: boolean;
  readonly skipBlocked: boolean;
  /** Seconds. */
  readonly watch: number;
  readonly ironicConf?: readonly string[];
}

/**
 * Checks whether the migration can start, one row per check. Read-only.
 * @throws MigrationError if a database does not answer, and for options
 */
export async function check(
  request: CheckRequest,
  { report: print }: Pick<Sink, "report">,
): Promise<readonly CheckRow[]> {
  const { is, run } = await runAt(request.run);
  if (run === null) print(`${request.run} is not a run yet, so checks of a plan are skipped.`);
  const { novaDb, watch } = request;
  if (novaDb !== undefined && watch > 0) print(`Watching heartbeats for ${watch} s.`);
  return checkAll(await closing((keep) => gather(request, is, run, keep)));
}

async function gather(
  request: CheckRequest,
  is: CheckView["run"]["is"],
  run: RunFolder | null,
  keep: Keep,
): Promise<CheckView> {
  const open: Open = async (role, spec, readOnly = true) =>
    keep(await openRole(role, spec, { readOnly }));
  const may = (role: keyof typeof ROLES, spec: string | undefined) =>
    spec === undefined ? null : open(role, spec);
  const source = await open("nova-bm-db", request.novaBmDb);
  const cloud = await may("nova-db", request.novaDb);
  const target = await open("ironic-db", request.ironicDb);
  const writing = await open("ironic-db", request.ironicDb, false);
  const api = await may("nova-api-db", request.novaApiDb);
  const placement = await may("placement-db", request.placementDb);
  const servers: ServerFacts[] = [];
  const opened = { "nova-bm-db": source, "nova-db": cloud, "ironic-db": target };
  const all = { ...opened, "nova-api-db": api, "placement-db": placement };
  for (const [role, database] of Object.entries(all))
    if (database !== null) servers.push(await readServer(database, `--${role}`, Date.now));
  const bm = await orMissingReason("nova-bm-db", source, () => checkNovaBm(source));
  const plan = run && (await planFacts(run, request.skipBlocked));
  const nodes: Nodes = "refused" in bm ? [] : bm.nodes;
  const release = request.ironicRelease ?? plan?.release;
  const ironic = await orMissingReason("ironic-db", target, async () =>
    checkIronic(target, writing, await loadMappings(), release, plan?.traits === true),
  );
  const ironicNodes = "refused" in ironic ? [] : ironic.facts.nodes;
  const nova =
    cloud &&
    (await orMissingReason("nova-db", cloud, async () => {
      const facts = await checkNova(cloud, nodes, instancesOf(ironicNodes));
      if (request.watch > 0) await rest(request.watch * 1000);
      return {
        ...facts,
        later: await readServices(cloud),
        queued: await readQueued(cloud, facts.instances),
        unqueued: await unreadQueues(cloud),
        forbidden: await forbiddenIn("nova-db", request.novaDb, open, plan?.nova?.statements),
      };
    }));
  const version = nova === null || "refused" in nova ? null : nova.version;
  const pairing =
    "refused" in bm || "refused" in ironic || (nova !== null && version === null)
      ? null
      : pair(version, bm.version, ironic.release.doc, true);
  return {
    watched: request.watch,
    pairing: pairing && { ...pairing, requested: request.allowPairing },
    ...{ servers, bm, nova, plan, ironic: "refused" in ironic ? ironic : ironic.facts },
    loadedNodes: run === null ? new Set<string>() : await createdByRun(run),
    api:
      api &&
      (await orMissingReason("nova-api-db", api, async () => ({
        ...(await readApi(api, [...instancesOf(nodes)])),
        forbidden: await forbiddenIn("nova-api-db", request.novaApiDb, open, plan?.nova?.api),
      }))),
    placement:
      placement &&
      (await orMissingReason("placement-db", placement, () => placed(placement, nodes))),
    ...(await ofCloud(placement && cloud, nodes)),
    glance: request.glance ? await askGlance(request, plan, nova) : null,
    pace: await paceOf(request.ironicConf ?? []),
    run: { path: request.run, is, free: await spaceAt(request.run) },
  };
}

type Open = (role: keyof typeof ROLES, spec: string, readOnly?: boolean) => Promise<Database>;

/** Statements of the Nova plan for which the user lacks privileges. */
async function forbiddenIn(
  role: "nova-db" | "nova-api-db",
  spec: string | undefined,
  open: Open,
  required: Privileges = new Map(),
) {
  if (spec === undefined || required.size === 0) return { statements: [], grants: [], missing: [] };
  const gaps = await ungranted(await open(role, spec, false), required);
  const needless: readonly string[] = REQUEST_TABLES; // without them there are no requests to read
  return { ...gaps, missing: gaps.missing.filter((table) => !needless.includes(table)) };
}

/** Free bytes in the folder, or in its first existing parent. */
async function spaceAt(path: string): Promise<number> {
  for (let at = resolve(path); ; at = dirname(at)) {
    const free = await freeSpace(at).catch((error: unknown) => {
      if (dirname(at) === at) throw error;
      return null;
    });
    if (free !== null) return free;
  }
}

type Nodes = BmFacts["nodes"];

function* instancesOf(all: Iterable<{ readonly instance_uuid: string | null }>): Generator<string> {
  for (const { instance_uuid } of all) if (instance_uuid) yield instance_uuid;
}

function machinesOf(nodes: Nodes): readonly string[] {
  return nodes.flatMap(({ uuid }) => uuid ?? []);
}

async function placed(placement: Database, nodes: Nodes): Promise<PlacementFacts> {
  const allocated = new Map<string, readonly Provider[]>();
  const providers: Provider[] = [];
  // Queried even without machines, to check whether it is Placement's database.
  for (const some of nodes.length === 0 ? [[]] : inPortions(nodes)) {
    const found = await readPlacement(placement, [...instancesOf(some)], machinesOf(some));
    for (const [instance, rows] of found.allocated) allocated.set(instance, rows);
    providers.push(...found.providers);
  }
  return { providers, allocated };
}

/** Without a database, and without machines, there is nothing to compare. */
async function ofCloud(cloud: Database | null, nodes: Nodes) {
  let computes: Map<string, string> | null = new Map();
  const classless = new Set<string>();
  for (const some of inPortions(cloud === null ? [] : nodes)) {
    if (cloud === null) break;
    const found = await readComputeUuids(cloud, machinesOf(some));
    if (found === null) computes = null;
    for (const [machine, uuid] of found ?? []) computes?.set(machine, uuid);
    for (const instance of await readClassless(cloud, [...instancesOf(some)]))
      classless.add(instance);
  }
  return { computes, classless };
}

/** Deploy images and images of instances. A failure of Glance becomes a row. */
async function askGlance(
  options: RestOptions,
  plan: PlanFacts | null,
  nova: NovaFacts | Refused | null,
): Promise<CheckView["glance"]> {
  const ids = new Set([...(plan?.images ?? []), ...(plan?.made ?? [])]);
  for (const { deleted, image } of nova === null || "refused" in nova ? [] : nova.instances)
    if (!deleted && image !== null) ids.add(image);
  try {
    return await imageStatuses(cloudFor(options), 60_000, [...ids]);
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    return { refused: { code: error.code, message: error.message, fix: error.fix } };
  }
}

/** Refusals that are shown as table rows, because the database did respond. */
const FACTS = /^N2I-E20[23468]$/;

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
async function orMissingReason<T>(
  role: keyof typeof ROLES,
  database: Database,
  work: () => Promise<T>,
): Promise<T | Refused> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof MigrationError && FACTS.test(error.code))) throw error;
    const { code, message, fix } = error;
    const privileges = new Map(
      (READ[role] ?? []).map((table) => [table, new Set(["SELECT"] as const)]),
    );
    const grants = code === "N2I-E206" ? (await ungranted(database, privileges)).grants : [];
    return { refused: { code, message, fix: grants.length > 0 ? grants.join("; ") : fix } };
  }
}

/** A folder with any of them is a run's. */
const FILES = [SNAPSHOT, PLAN, "journal.jsonl"];

/**
 * The run's folder. Null if it does not exist or has no run. The latter's owner and mode are not
 * checked.
 * @throws MigrationError N2I-E110 for a run that other users can access
 */
async function runAt(path: string) {
  const found = await readdir(path).catch((cause: NodeJS.ErrnoException) => cause.code);
  if (found === "ENOENT") return { is: "absent", run: null } as const;
  const isOther = Array.isArray(found) && !FILES.some((name) => found.includes(name));
  if (isOther) return { is: "other", run: null } as const;
  return { is: "run", run: await openRun(path, { create: false }) } as const;
}
