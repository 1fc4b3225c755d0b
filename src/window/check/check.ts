import { readdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { readQueued, unreadQueues } from "../../migrate/hosts/queued.ts";
import { loadMappings } from "../../migrate/open/documents.ts";
import { pair } from "../../migrate/plan/rules/pairing.ts";
import type {
  BmFacts,
  CheckView,
  IronicFacts,
  NovaFacts,
  PlacementFacts,
  Provider,
  RunFolderState,
  ServerFacts,
} from "../../model/check.ts";
import type { Privileges, Ungranted } from "../../model/database.ts";
import type { RestOptions } from "../../run/cloud.ts";
import { closing, type Keep, openRole, ROLES } from "../../run/databases.ts";
import { freeSpace, openRun, type RunFolder } from "../../run/files/run-folder.ts";
import { rest } from "../../run/process-context.ts";
import { PLAN, SNAPSHOT } from "../../run/run.ts";
import type { Sink } from "../../run/sink.ts";
import { readServer } from "../../systems/database/identity.ts";
import type { Database } from "../../systems/database/open.ts";
import { ungranted } from "../../systems/database/rights.ts";
import { inPortions } from "../../systems/database/rows.ts";
import { checkIronic } from "../../systems/ironic-db/check.ts";
import { checkNovaBm } from "../../systems/nova-bm/check.ts";
import { checkNova } from "../../systems/nova-db/check.ts";
import {
  readApi,
  readClassless,
  readComputeUuids,
  readPlacement,
} from "../../systems/nova-db/later.ts";
import { REQUEST_TABLES } from "../../systems/nova-db/requests.ts";
import { readBeats } from "../../systems/nova-db/services.ts";
import { paceOf } from "../handover/conductor-pace.ts";
import { askGlance, orMissingReason } from "./check-cloud.ts";
import { createdByRun, planFacts } from "./check-run.ts";
import { type CheckRow, checkAll } from "./rules/checks.ts";

/** Systems to check, by option name. REST is for Glance. */
export interface CheckRequest extends RestOptions {
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
  const { clients: folder, run } = await runAt(request.run);
  if (run === null) print(`${request.run} is not a run yet, so checks of a plan are skipped.`);
  const { novaDb, watch } = request;
  if (novaDb !== undefined && watch > 0) print(`Watching heartbeats for ${watch} s.`);
  return checkAll(await closing((keep) => gather(request, folder, run, keep)));
}

async function gather(
  request: CheckRequest,
  folder: RunFolderState,
  run: RunFolder | null,
  keep: Keep,
): Promise<CheckView> {
  const open: Open = async (role, spec, readOnly = true) =>
    keep(await openRole(role, spec, { readOnly }));
  const source = await open("nova-bm-db", request.novaBmDb);
  const may = (role: keyof typeof ROLES, spec: string | undefined) =>
    spec === undefined ? null : open(role, spec);
  const cloud = await may("nova-db", request.novaDb);
  const target = await open("ironic-db", request.ironicDb);
  const writing = await open("ironic-db", request.ironicDb, false);
  const api = await may("nova-api-db", request.novaApiDb);
  const placement = await may("placement-db", request.placementDb);
  const servers = await serversOf([
    ...[["nova-bm-db", source] as const, ["nova-db", cloud] as const],
    ...[["ironic-db", target] as const, ["nova-api-db", api] as const],
    ["placement-db", placement],
  ]);
  const bm = await orMissingReason("nova-bm-db", source, () => checkNovaBm(source));
  const plan = run && (await planFacts(run, request.skipBlocked));
  const nodes: BmFacts["nodes"] = "refused" in bm ? [] : bm.nodes;
  const release = request.ironicRelease ?? plan?.release;
  const ironic = await orMissingReason("ironic-db", target, async () =>
    checkIronic(target, writing, await loadMappings(), release, plan?.traits === true),
  );
  const later = await laterNova({ cloud, api, placement }, nodes, () =>
    within("nova-api-db", request.novaApiDb, plan?.nova?.api, open),
  );
  const ironicNodes = "refused" in ironic ? [] : ironic.facts.nodes;
  const nova =
    cloud === null
      ? null
      : await orMissingReason("nova-db", cloud, async () => ({
          ...(await watched(cloud, nodes, ironicNodes, request.watch)),
          forbidden: await within("nova-db", request.novaDb, plan?.nova?.statements, open),
        }));
  const version = nova === null || "refused" in nova ? null : nova.version;
  const pairing =
    "refused" in bm || "refused" in ironic || (nova !== null && version === null)
      ? null
      : pair(version, bm.version, ironic.release.doc, true);
  return {
    watched: request.watch,
    pairing: pairing && { ...pairing, requested: request.allowPairing },
    servers,
    bm,
    nova,
    ironic: "refused" in ironic ? ironic : ironic.facts,
    plan,
    loadedNodes: run === null ? new Set<string>() : await createdByRun(run),
    ...later,
    glance: request.glance ? await askGlance(request, plan, nova) : null,
    pace: await paceOf(request.ironicConf ?? []),
    run: { ...folder, free: await spaceAt(folder.path) },
  };
}

async function serversOf(
  databases: readonly (readonly [keyof typeof ROLES, Database | null])[],
): Promise<readonly ServerFacts[]> {
  const servers: ServerFacts[] = [];
  for (const [role, database] of databases)
    if (database !== null) servers.push(await readServer(database, ROLES[role].option, Date.now));
  return servers;
}

type Open = (role: keyof typeof ROLES, spec: string, readOnly?: boolean) => Promise<Database>;

/** Statements of the Nova plan for which the user lacks privileges. */
async function within(
  role: "nova-db" | "nova-api-db",
  spec: string | undefined,
  required: Privileges = new Map(),
  open: Open,
): Promise<Ungranted> {
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

async function watched(
  nova: Database,
  nodes: BmFacts["nodes"],
  ironicNodes: IronicFacts["nodes"],
  seconds: number,
): Promise<Omit<NovaFacts, "forbidden">> {
  const facts = await checkNova(nova, nodes, instancesOf(ironicNodes));
  if (seconds > 0) await rest(seconds * 1000);
  return {
    ...facts,
    later: await readBeats(nova),
    queued: await readQueued(nova, facts.instances),
    unqueued: await unreadQueues(nova),
  };
}

type Nodes = BmFacts["nodes"];

async function laterNova(
  { cloud, api, placement }: { readonly [name in "cloud" | "api" | "placement"]: Database | null },
  nodes: Nodes,
  forbidden: () => Promise<Ungranted>,
): Promise<Pick<CheckView, "api" | "placement" | "computes" | "classless">> {
  const both = cloud !== null && placement !== null;
  return {
    api:
      api &&
      (await orMissingReason("nova-api-db", api, async () => ({
        ...(await readApi(api, instancesOf(nodes))),
        forbidden: await forbidden(),
      }))),
    placement:
      placement &&
      (await orMissingReason("placement-db", placement, () => placed(placement, nodes))),
    ...(await ofCloud(both ? cloud : null, nodes)),
  };
}

function* instancesOf(all: Iterable<{ readonly instance_uuid: string | null }>): Generator<string> {
  for (const { instance_uuid } of all) if (instance_uuid) yield instance_uuid;
}

/** Portions of machines, with their UUIDs and those of their instances. */
function* inParts(nodes: Nodes) {
  for (const some of inPortions(nodes))
    yield {
      machines: some.flatMap(({ uuid }) => (uuid === null ? [] : [uuid])),
      tenants: [...instancesOf(some)],
    };
}

async function placed(placement: Database, nodes: Nodes): Promise<PlacementFacts> {
  const allocated = new Map<string, readonly Provider[]>();
  const providers: Provider[] = [];
  // Queried even without machines, to check whether it is Placement's database.
  const parts = nodes.length === 0 ? [{ machines: [], tenants: [] }] : inParts(nodes);
  for (const { machines, tenants } of parts) {
    const found = await readPlacement(placement, tenants, machines);
    for (const [instance, rows] of found.allocated) allocated.set(instance, rows);
    providers.push(...found.providers);
  }
  return { providers, allocated };
}

/** Without a database, and without machines, there is nothing to compare. */
async function ofCloud(
  cloud: Database | null,
  nodes: Nodes,
): Promise<Pick<CheckView, "computes" | "classless">> {
  let computes: Map<string, string> | null = new Map();
  const classless = new Set<string>();
  if (cloud === null) return { computes, classless };
  for (const { machines, tenants } of inParts(nodes)) {
    const found = await readComputeUuids(cloud, machines);
    if (found === null) computes = null;
    for (const [machine, uuid] of found ?? []) computes?.set(machine, uuid);
    for (const instance of await readClassless(cloud, tenants)) classless.add(instance);
  }
  return { computes, classless };
}

/** A folder with any of them is a run's. */
const FILES = [SNAPSHOT, PLAN, "journal.jsonl"];

/**
 * The run's folder. Null if it does not exist or has no run. The latter's owner and mode are not
 * checked.
 * @throws MigrationError N2I-E110 for a run that other users can access
 */
async function runAt(
  path: string,
): Promise<{ readonly clients: RunFolderState; readonly run: RunFolder | null }> {
  const found = await readdir(path).catch((cause: NodeJS.ErrnoException) => cause.code);
  if (found === "ENOENT") return { clients: { path, is: "absent" }, run: null };
  if (Array.isArray(found) && !FILES.some((name) => found.includes(name)))
    return { clients: { path, is: "other" }, run: null };
  return { clients: { path, is: "run" }, run: await openRun(path, { create: false }) };
}
