import { dirname, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pair } from "../../core/plan/pairing.ts";
import type { Database } from "../../edge/database/open.ts";
import { lacking } from "../../edge/database/rights.ts";
import { readServer } from "../../edge/database/server.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import { freeSpace } from "../../edge/disk/space.ts";
import { imageStatuses } from "../../edge/glance/status.ts";
import { knockAll } from "../../edge/helper/knock.ts";
import { checkIronic } from "../../edge/ironic-db/check.ts";
import { checkNova, readBeats } from "../../edge/nova/check.ts";
import { readApi, readClassless, readComputeUuids, readPlacement } from "../../edge/nova/later.ts";
import { checkNovaBm } from "../../edge/nova-bm/check.ts";
import type { BmFacts, CheckView, NovaFacts, Refused } from "../../model/check.ts";
import type { PlanFacts } from "../../model/check-plan.ts";
import { MigrationError } from "../../model/error.ts";
import type { Lacking, Wanted } from "../../model/rights.ts";
import { hostsOf, oursByJournal, planFacts } from "./check-run.ts";
import { cloudFor, type RestOptions } from "./cloud.ts";
import { openRole, ROLES } from "./databases.ts";
import { loadMappings } from "./documents.ts";

/** Where everything is that is looked at. */
export interface CheckAsked {
  readonly novaBmDb: string;
  readonly novaDb: string | undefined;
  readonly ironicDb: string;
  /** Of later Novas. */
  readonly novaApiDb: string | undefined;
  readonly placementDb: string | undefined;
  /** Which Glance is asked for images; null: none. */
  readonly glance: RestOptions | null;
  /** `HOST[:PORT]` of deploy helpers; empty: what the snapshot's nova.conf files say. */
  readonly helperHosts: readonly string[];
  readonly release: string | undefined;
  readonly allowPairing: boolean;
  /** Seconds. */
  readonly watch: number;
}

/** Refusals that are facts of a database, and so a row of the table; it answered, after all. */
const FACTS: ReadonlySet<string> = new Set([
  ...["N2I-E202", "N2I-E203", "N2I-E204", "N2I-E206", "N2I-E208"],
]);

async function orWhy<T>(work: () => Promise<T>): Promise<T | Refused> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof MigrationError && FACTS.has(error.code))) throw error;
    return { refused: { code: error.code, message: error.message, fix: error.fix } };
  }
}

/** Where the run is, or would be. */
interface RunPlace {
  readonly path: string;
  /** Null: nothing was extracted yet. */
  readonly run: RunFolder | null;
}

/**
 * Reads everything the checks look at; writes nothing.
 *
 * @throws MigrationError when a database does not answer, and for options
 */
export async function gather(asked: CheckAsked, { path, run }: RunPlace): Promise<CheckView> {
  const opened: Database[] = [];
  const open = async (role: keyof typeof ROLES, spec: string, readOnly = true) => {
    const database = await openRole(role, spec, { readOnly });
    opened.push(database);
    return database;
  };
  try {
    const source = await open("nova-bm-db", asked.novaBmDb);
    const cloud = asked.novaDb === undefined ? null : await open("nova-db", asked.novaDb);
    const target = await open("ironic-db", asked.ironicDb);
    const writing = await open("ironic-db", asked.ironicDb, false);
    const servers = [
      await readServer(source, ROLES["nova-bm-db"].option, Date.now),
      ...(cloud === null ? [] : [await readServer(cloud, ROLES["nova-db"].option, Date.now)]),
      await readServer(target, ROLES["ironic-db"].option, Date.now),
    ];
    const bm = await orWhy(() => checkNovaBm(source));
    const plan = run && (await planFacts(run));
    const nodes = "refused" in bm ? [] : bm.nodes;
    const release = asked.release ?? plan?.release;
    const ironic = await orWhy(() =>
      checkIronic(target, writing, loadMappings(), release, plan?.traits === true),
    );
    const held = "refused" in ironic ? [] : ironic.facts.nodes.map((node) => node.instance_uuid);
    const nova =
      cloud === null
        ? null
        : await orWhy(async () => ({
            ...(await watched(cloud, nodes, held, asked.watch)),
            forbidden: await within("nova-db", asked.novaDb, plan?.nova?.statements, open),
          }));
    const version = nova === null || "refused" in nova ? null : nova.version;
    const pairing =
      "refused" in bm || "refused" in ironic || (nova !== null && version === null)
        ? null
        : pair(version, bm.version, ironic.release.doc, true);
    return {
      watched: asked.watch,
      pairing: pairing && { ...pairing, wanted: asked.allowPairing },
      servers,
      bm,
      nova,
      ironic: "refused" in ironic ? ironic : ironic.facts,
      plan,
      ours: run === null ? new Set() : await oursByJournal(run),
      helpers: await knockAll(await helperHosts(asked, run)),
      ...(await laterNova(asked, nodes, cloud, plan, open)),
      glance: asked.glance === null ? null : await askGlance(asked.glance, plan, nova),
      run: { path, free: await spaceAt(path) },
    };
  } finally {
    for (const database of opened) await database.close();
  }
}

type Open = (role: keyof typeof ROLES, spec: string, readOnly?: boolean) => Promise<Database>;

/** Statements the plan for Nova needs that the user who is given may not make. */
async function within(
  role: "nova-db" | "nova-api-db",
  spec: string | undefined,
  wanted: Wanted = new Map(),
  open: Open,
): Promise<Lacking> {
  return spec === undefined || wanted.size === 0
    ? { statements: [], grants: [] }
    : lacking(await open(role, spec, false), wanted);
}

/** Seconds a call to Glance may take. */
const LIMIT = 60;

/** Deploy images and what tenants were made of; what Glance does not tell is a row of the table. */
async function askGlance(
  options: RestOptions,
  plan: PlanFacts | null,
  nova: NovaFacts | Refused | null,
): Promise<CheckView["glance"]> {
  const tenants =
    nova === null || "refused" in nova ? [] : nova.instances.filter(({ deleted }) => !deleted);
  const ids = [
    ...(plan?.images ?? []),
    ...(plan?.made ?? []),
    ...tenants.flatMap(({ image }) => (image === null ? [] : [image])),
  ];
  try {
    return await imageStatuses(cloudFor(options), LIMIT * 1000, ids);
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    return { refused: { code: error.code, message: error.message, fix: error.fix } };
  }
}

/** Those named; or else the addresses of the nova.conf files that extract was given. */
async function helperHosts(asked: CheckAsked, run: RunFolder | null): Promise<readonly string[]> {
  if (asked.helperHosts.length > 0) return asked.helperHosts;
  return (run === null ? [] : await hostsOf(run)).flatMap(({ my_ip }) =>
    my_ip === null ? [] : [my_ip],
  );
}

/** Bytes free where the folder is; where it is not yet, in the one it would be made in. */
async function spaceAt(path: string): Promise<number> {
  for (let at = resolve(path); ; at = dirname(at)) {
    const free = await freeSpace(at).catch((error: unknown) => {
      if (dirname(at) === at) throw error;
      return null;
    });
    if (free !== null) return free;
  }
}

async function laterNova(
  { novaApiDb, placementDb }: CheckAsked,
  nodes: BmFacts["nodes"],
  cloud: Database | null,
  plan: PlanFacts | null,
  open: Open,
): Promise<Pick<CheckView, "api" | "placement" | "computes" | "classless">> {
  const tenants = nodes.flatMap(({ instance_uuid }) => (instance_uuid ? [instance_uuid] : []));
  const machines = nodes.flatMap(({ uuid }) => (uuid === null ? [] : [uuid]));
  return {
    api:
      novaApiDb === undefined
        ? null
        : await orWhy(async () => ({
            ...(await readApi(await open("nova-api-db", novaApiDb), tenants)),
            forbidden: await within("nova-api-db", novaApiDb, plan?.nova?.api, open),
          })),
    placement:
      placementDb === undefined
        ? null
        : await orWhy(async () =>
            readPlacement(await open("placement-db", placementDb), tenants, machines),
          ),
    computes:
      cloud === null || placementDb === undefined
        ? new Map()
        : await readComputeUuids(cloud, machines),
    classless:
      cloud === null || placementDb === undefined ? new Set() : await readClassless(cloud, tenants),
  };
}

async function watched(
  nova: Database,
  nodes: BmFacts["nodes"],
  held: readonly (string | null)[],
  seconds: number,
): Promise<Omit<NovaFacts, "forbidden">> {
  const facts = await checkNova(
    nova,
    nodes,
    held.filter((uuid) => uuid !== null),
  );
  if (seconds > 0) await sleep(seconds * 1000);
  return { ...facts, later: await readBeats(nova) };
}
