import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Engine } from "../../src/model/database.ts";
import type { AgentOptions } from "../../src/takeover/agent/agent-taker.ts";
import { withAgent } from "../../src/takeover/host-agent.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { addressFile } from "../lab/index.ts";
import { ago } from "./cloud.ts";
import { loadMachines, ownedBy, report } from "./legacy-cloud.ts";
import { writeBoot } from "./legacy-trees.ts";

type OpenedAgent = Parameters<Parameters<typeof withAgent>[2]>[0];

const HOSTS = ["A", "B", "C", "D"];
export const MACHINES = 24;

/** Looks after which a host that is dead from the beginning is known to be silent: the first two tell nothing. */
export const SILENT = 8;

interface Computed {
  readonly hosts?: readonly string[];
  readonly machines?: number;
}

/** Compute hosts of nova-baremetal whose nova-computes the test plays; A is dead, and all machines are its own. */
export async function cloud(engine: Engine, t: TestContext, wanted: Computed = {}) {
  const { hosts = HOSTS, machines = MACHINES } = wanted;
  const [owners, folder] = [ownedBy("A", machines), privateFolder(t)];
  const services = Object.fromEntries(hosts.map((host) => [host, { updated_at: ago(600) }]));
  const { bm, nova } = await loadMachines(t, { engine, hosts, owners, services });
  for (const host of hosts) mkdirSync(join(folder, host, "pxelinux.cfg"), { recursive: true });
  for (let id = 1; id <= machines; id += 2) writeBoot(join(folder, "A"), id);
  const [novaBmDb, novaDb] = [
    addressFile(folder, "bm", bm.url),
    addressFile(folder, "n", nova.url),
  ];
  const at = { novaBmDb, novaDb };
  const dead = async (host: string, more: object = {}): Promise<void> => {
    const lease = { epoch: 4, heartbeat_ms: Date.now() - 90_000, ttl_ms: 60_000, takes: true };
    await bm.db("bm_service_leases").insert({ host, ...lease, ...more });
  };
  await dead("A");
  const said: string[] = [];
  let now = 0;
  return {
    ...{ bm: bm.db, nova: nova.db, folder, said, dead, at },
    /**
     * Opens agents of these hosts, which take unless they are told otherwise.
     *
     * @param work is given intervals of all at once: those that end with what they began, and one that does not
     */
    async agents(
      names: readonly string[],
      work: (tick: (times?: number) => Promise<void>, look: () => Promise<void>) => Promise<void>,
      more: Partial<AgentOptions> = {},
    ): Promise<void> {
      const open: OpenedAgent[] = [];
      const look = async (): Promise<void> => {
        now += 10_000;
        await report(nova.db, names);
        await Promise.all(open.map(({ pass }) => pass()));
      };
      const tick = async (times = 1): Promise<void> => {
        for (let time = 0; time < times; time += 1) {
          await look();
          await Promise.all(open.map(({ settle }) => settle()));
        }
      };
      const openAll = async ([host, ...rest]: readonly string[]): Promise<void> => {
        if (host === undefined) return work(tick, look);
        const asked: AgentOptions = {
          ...{ host, ...at, interval: 10, ttl: 60, take: true, myIp: "10.0.0.9" },
          ...{ run: join(folder, `run-${host}`), tftpRoot: join(folder, host) },
          tftpFrom: hosts.filter((one) => one !== host).map((one) => `${one}=${join(folder, one)}`),
          ...more,
        };
        await withAgent(
          asked,
          (text) => said.push(`${host}: ${text}`),
          (agent) => {
            open.push(agent);
            return openAll(rest);
          },
          () => now,
        );
      };
      await openAll(names);
    },
    async owners(): Promise<ReadonlyMap<string, string>> {
      const nodes = await bm.db("bm_nodes").orderBy("id");
      return new Map(nodes.map(({ uuid, service_host }) => [uuid, service_host]));
    },
    /** Machines that a host has, or that are under way. */
    async left(host = "A"): Promise<number> {
      const its = bm.db("bm_nodes").where({ service_host: host });
      const nodes = await its.orWhere({ task_state: "migrating" });
      const held = await nova.db("instances").where({ host }).orWhereNotNull("task_state");
      return nodes.length + held.length;
    },
    says: async (words: RegExp) => said.some((line) => words.test(line)),
    lease: async (host: string) => {
      const row = await bm.db("bm_service_leases").where({ host }).first();
      return [Number(row?.epoch), row?.fenced_by ?? null];
    },
  };
}

export type Cloud = NonNullable<Awaited<ReturnType<typeof cloud>>>;

export function looksUntil(look: () => Promise<void>, isSo: () => Promise<boolean>) {
  return until(async () => {
    await look();
    return isSo();
  });
}

export function taken(made: Cloud, look: () => Promise<void>): Promise<void> {
  return looksUntil(look, async () => (await made.left()) === 0);
}

/** Waits until it is so. The guard of the file ends a hang. */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(20);
}
