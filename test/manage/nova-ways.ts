import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { runWindow, type WindowSession } from "../../src/engine/window.ts";
import { ONE_BY_ONE, type WindowLeg } from "../../src/engine/window-part.ts";
import { MigrationError } from "../../src/lib/error.ts";
import { once } from "../../src/lib/streams.ts";
import { changesBack, managedIn } from "../../src/manage/manage-run.ts";
import { type NovaClients, openNovaClients } from "../../src/manage/nova-clients.ts";
import type { ManageChange } from "../../src/manage/steps/manage-acts.ts";
import { novaPart } from "../../src/manage/steps/manage-nova.ts";
import { novaBackPart } from "../../src/manage/steps/manage-nova-back.ts";
import type { ManagePosition } from "../../src/manage/steps/manage-positions.ts";
import { loadMappings } from "../../src/migrate/open/documents.ts";
import type { Keep } from "../../src/run/databases.ts";
import { readJournal } from "../../src/run/files/journal.ts";
import { openRun, type RunFolder } from "../../src/run/files/run-folder.ts";
import { openService } from "../../src/systems/ironic-api/service.ts";
import { cloudOf } from "../../src/systems/openstack/cloud.ts";
import { openNetwork } from "../../src/systems/openstack/neutron-ports.ts";
import { pauseShorter } from "../../src/systems/openstack/passing.ts";
import { during } from "../engine/on-journal.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { ID, type NovaInMemory, novaInMemory, OWN } from "./nova-memory.ts";

const LIMIT = 5000;
export const REQUEST = {
  ...{ node: ID, name: "web-1", description: null, availability_zone: null, metadata: {} },
};

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
  const keep: Keep = (one) => {
    t.after(() => one.close());
    return one;
  };
  const hands = await openNovaClients(await servicesAt(t, cloud.url), keep, asked, []);
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

/** The same with another run. */
export async function withRun<T>(t: TestContext, at: T): Promise<T & { readonly run: RunFolder }> {
  return { ...at, run: await openRun(privateFolder(t), { create: true }) };
}

/** A machine with its server, or as it stands after so many lines of the journal. */
export async function begun(t: TestContext, lines?: number): Promise<Scene> {
  const at = await scene(t);
  await forward(at, lines);
  return at;
}

/**
 * Gives it a server.
 *
 * @param lines of the journal until it dies
 * @returns why it does not have its server; nothing of one that died
 */
export async function forward(at: Scene, lines?: number): Promise<readonly string[]> {
  const why: string[] = [];
  await during(at.run, async (session) => why.push(...(await forwardIn(at, session))), lines);
  return why;
}

/** Takes its server away. @returns why it was not taken away; nothing of one that died */
export async function back({ hands, run }: Scene, lines?: number): Promise<readonly string[]> {
  return (await backBy(novaBackPart(hands, 1), run, lines)).flatMap(({ reasons: why }) => why);
}

/** Machines that the run has, as its journal has them. */
export async function machinesOf({ run }: Pick<Scene, "run">) {
  return managedIn((await readJournal(run)).entries);
}

export async function changeIn(at: Pick<Scene, "run">): Promise<ManageChange> {
  return (await machinesOf(at)).get(ID)?.change ?? assert.fail();
}

/** The same, which is watched for a while by a clock that only looking moves. */
export function watched(at: Scene): Scene {
  let now = 0;
  const clock = { now: () => now++, sleep: () => Promise.resolve() };
  return { ...at, hands: { ...at.hands, watch: 9, clock } };
}

/** As the command does. Who died holds nothing any more. */
export async function forwardIn({ hands: living, mark }: Scene, alive: WindowSession) {
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
  const hold: NovaClients["hardware"]["maintain"] = (...words) =>
    dead ? Promise.reject(new Error("died")) : living.hardware.maintain(...words);
  const hands = { ...living, hardware: { ...living.hardware, maintain: hold } };
  return (await forwardBy(novaPart(hands, 1), session, mark)).flatMap(({ reasons: why }) => why);
}

type Leg = WindowLeg<ManageChange, ManagePosition>;
type Part = Leg["part"];

/** Acts on its machine as a command does: with what the journal says of it, or anew. */
export async function forwardBy(part: Part, session: WindowSession, server: string) {
  const known = managedIn(session.journal.entries()).get(ID)?.change;
  const change = { ...(known ?? { id: ID, server, acts: [] }), request: REQUEST };
  const leg = { part, command: "manage", pace: ONE_BY_ONE, changes: () => once([change]) };
  const ends: ManagePosition[] = [];
  const { broke } = await runWindow("forward", leg, session, ({ position }) => ends.push(position));
  if (broke !== null) throw broke.cause ?? broke;
  return ends;
}

/** Takes back what the run did. @returns nothing of one that died */
export async function backBy(part: Part, run: RunFolder, lines?: number) {
  const ends: ManagePosition[] = [];
  const leg = { part, command: "rollback", pace: ONE_BY_ONE, changes: changesBack(() => true) };
  const act = async (session: WindowSession): Promise<void> => {
    const { broke } = await runWindow("back", leg, session, ({ position }) => ends.push(position));
    if (broke !== null) throw broke.cause ?? broke;
  };
  await during(run, act, lines);
  return ends;
}
