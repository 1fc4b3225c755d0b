import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { type WindowSession, windowBack, windowForward } from "../../src/engine/window.ts";
import { ONE_BY_ONE } from "../../src/engine/window-part.ts";
import { MigrationError } from "../../src/lib/error.ts";
import type { Json } from "../../src/lib/json.ts";
import { once } from "../../src/lib/streams.ts";
import { changeBack, managedIn } from "../../src/manage/manage-run.ts";
import { type NovaClients, openNovaClients } from "../../src/manage/nova-clients.ts";
import type { ManageChange } from "../../src/manage/steps/manage-acts.ts";
import { novaPart } from "../../src/manage/steps/manage-nova.ts";
import { novaBackPart } from "../../src/manage/steps/manage-nova-back.ts";
import { loadMappings } from "../../src/migrate/open/documents.ts";
import type { Keep } from "../../src/run/databases.ts";
import { openRun, type RunFolder } from "../../src/run/files/run-folder.ts";
import { openService } from "../../src/systems/ironic-api/service.ts";
import { openNetwork } from "../../src/systems/openstack/neutron-ports.ts";
import { pauseShorter } from "../../src/systems/openstack/passing.ts";
import { cloudOf } from "../../src/systems/openstack/settings.ts";
import { during } from "../engine/on-journal.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { uuidOf } from "./in-memory.ts";
import { type NovaInMemory, novaInMemory } from "./nova-memory.ts";

/** Its node, and the word by which it gets its server unless a scene has another. */
export const ID = uuidOf(1, 1);
export const OWN = uuidOf(7, 1);
const LIMIT = 5000;

/** A machine, and what is done with it. */
export interface Scene {
  readonly cloud: NovaInMemory;
  readonly hands: NovaClients;
  readonly run: RunFolder;
  /** The word by which it gets its server. */
  readonly mark: string;
  readonly before: string;
}

/** @param rules how its cloud is not as it should be */
export async function scene(t: TestContext, rules: NovaInMemory["rules"] = {}): Promise<Scene> {
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  const cloud = await novaInMemory(t);
  Object.assign(cloud.rules, rules);
  const asked = { flavor: "gold", image: null, ports: null, cut: false, watch: 0 };
  const services = await servicesAt(t, cloud.url);
  const hands = await openNovaClients(services, closedAfter(t), asked, []);
  return withRun(t, { cloud, hands, mark: OWN, before: cloud.dump() });
}

/** As a command opens them, without a login. */
export async function servicesAt(t: TestContext, url: string) {
  const { releases, rest } = await loadMappings();
  const names = ["endpoint", "network", "compute", "placement", "image"].map(
    (name) => [name === "endpoint" ? name : `${name}_endpoint_override`, url] as const,
  );
  const cloud = cloudOf(new Map(names), "OS_*");
  const service = await openService(cloud, releases, rest, undefined, LIMIT);
  const network = await openNetwork(cloud, LIMIT);
  t.after(service.session.close);
  t.after(network.close);
  return {
    ...{ service, cloud, limit: LIMIT },
    network: () => Promise.resolve(network),
    images: () => Promise.resolve(null),
  };
}

export async function withRun(t: TestContext, at: Omit<Scene, "run">): Promise<Scene> {
  return { ...at, run: await openRun(privateFolder(t), { create: true }) };
}

/** A machine with its server, or as it stands after so many lines of the journal. */
export async function begun(t: TestContext, lines?: number): Promise<Scene> {
  const at = await scene(t);
  await forward(at, lines);
  return at;
}

function closedAfter(t: TestContext): Keep {
  return (one) => {
    t.after(() => one.close());
    return one;
  };
}

/**
 * Gives it a server.
 *
 * @param lines of the journal until it dies
 * @returns why it does not have its server; nothing of one that died
 */
export function forward(at: Scene, lines?: number): Promise<readonly string[]> {
  return acting(at.run, (session) => forwardIn(at, session), lines);
}

/** Takes its server away. @returns why it was not taken away; nothing of one that died */
export function back(at: Scene, lines?: number): Promise<readonly string[]> {
  return acting(at.run, (session) => backIn(at, session), lines);
}

export async function forwardEnds(at: Scene, why: RegExp, what?: string): Promise<void> {
  assert.match((await forward(at)).join(), why, what);
}

export async function backEnds(at: Scene, why: RegExp, what?: string): Promise<void> {
  assert.match((await back(at)).join(), why, what);
}

/** Expects the only server, as Nova has it. */
export function serverIn({ servers }: NovaInMemory): Record<string, Json> {
  return [...servers.values()][0] ?? assert.fail("there is no server");
}

/** The same, which is watched for a while by a clock that only looking moves. */
export function watched(at: Scene): Scene {
  let now = 0;
  const clock = { now: () => now++, sleep: () => Promise.resolve() };
  return { ...at, hands: { ...at.hands, watch: 9, clock } };
}

export async function undone(at: Scene, what?: string): Promise<void> {
  assert.deepEqual(await back(at), []);
  assert.equal(at.cloud.dump(), at.before, what);
}

async function acting(
  run: RunFolder,
  act: (session: WindowSession) => Promise<readonly string[]>,
  lines?: number,
): Promise<readonly string[]> {
  let why: readonly string[] = [];
  await during(
    run,
    async (session) => {
      why = await act(session);
    },
    lines,
  );
  return why;
}

/** As the command does: with what the journal says of it, or anew. Who died holds nothing any more. */
export async function forwardIn(
  { hands: living, mark }: Scene,
  alive: WindowSession,
): Promise<readonly string[]> {
  // Whoever meets a full disk is alive.
  let dead = false;
  const { entries, append } = alive.journal;
  const session: WindowSession = {
    ...alive,
    journal: {
      entries,
      append: (entry) =>
        append(entry).catch((cause: unknown) => {
          dead = !(cause instanceof MigrationError);
          throw cause;
        }),
    },
  };
  const hold: NovaClients["hardware"]["hold"] = (...words) =>
    dead ? Promise.reject(new Error("died")) : living.hardware.hold(...words);
  const hands = { ...living, hardware: { ...living.hardware, hold } };
  const asked = {
    ...{ node: ID, name: "web-1", description: null, availability_zone: null, metadata: {} },
  };
  const known = managedIn(session.journal.entries()).get(ID)?.change;
  const change: ManageChange =
    known === undefined ? { id: ID, server: mark, acts: [], asked } : { ...known, asked };
  const leg = { part: novaPart(hands, 1), command: "manage", pace: ONE_BY_ONE };
  const why: string[] = [];
  const { broke } = await windowForward(
    { ...leg, changes: () => once([change]) },
    session,
    ({ position }) => why.push(...position.why),
  );
  if (broke !== null) throw broke.cause ?? broke;
  return why;
}

async function backIn({ hands }: Scene, session: WindowSession): Promise<readonly string[]> {
  const leg = { part: novaBackPart(hands, 1), command: "rollback", pace: ONE_BY_ONE };
  const why: string[] = [];
  const { broke } = await windowBack(
    { ...leg, changes: (ours) => once([...ours].map(([id, one]) => changeBack(id, one).change)) },
    session,
    ({ position }) => why.push(...position.why),
  );
  if (broke !== null) throw broke.cause ?? broke;
  return why;
}
