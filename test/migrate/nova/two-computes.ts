import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Knex } from "knex";
import { machinesOf, startAgents, waitingIn } from "../../../grenade/lib/agent.ts";
import { registerImages } from "../../../grenade/lib/base.ts";
import { enroll, offered } from "../../../grenade/lib/enroll.ts";
import { registerNetwork } from "../../../grenade/lib/network.ts";
import { firstAlone } from "../../../grenade/lib/nova-races.ts";
import type { Stack } from "../../../grenade/lib/stack.ts";
import { until } from "../../../grenade/lib/wait.ts";
import { working } from "../../../grenade/lib/working.ts";
import { NOVA_DATABASES, startCompute } from "../../lab/cloud/nova.ts";
import { withStack } from "./with-stack.ts";

const MACHINES = 6;
const TENANTS = 4;
/**
 * Seconds for which the tool watches a host before a takeover. Nova keeps its own 60 seconds, so that a healthy host
 * whose heartbeat is late keeps its machines.
 */
export const WATCHED_SECONDS = 20;

export interface Compute {
  readonly host: string;
  readonly start: () => Promise<void>;
  readonly signal: (name: "SIGKILL" | "SIGSTOP" | "SIGCONT") => void;
  readonly stop: () => Promise<void>;
  readonly log: () => string;
}

export interface Tenant {
  readonly name: string;
  readonly server: string;
  readonly node: string;
  /** Its BMC has it on. */
  readonly on: () => boolean;
}

export type TwoComputes = Awaited<ReturnType<typeof twoComputes>>;

/** A real cloud with two hosts of one Ironic, and tenants on the machines of the first. */
export async function twoComputes(t: TestContext) {
  const { stack, ends } = await withStack(t, { machines: MACHINES, period: 10, managed: true });
  const folder = mkdtempSync(join(tmpdir(), "n2i-hosts-"));
  ends.push(() => rmSync(folder, { recursive: true }));
  const images = await registerImages(stack);
  const network = await registerNetwork(stack.asks);
  await stack.ironic.wake();
  const { ironic, sim, secrets } = stack;
  const own = { ironic, sim, secrets, resource_class: "bm", images: images.new };
  const order = await enroll(stack, own);
  const waiting = waitingIn(stack.db(ironic.database));
  const agents = await startAgents(ironic.url, machinesOf(sim, order), waiting);
  ends.push(agents.stop);
  const computes = ["bm-1", "bm-2"].map((host) => computeOf(stack, host));
  const [a, b] = computes as [Compute, Compute];
  ends.push(...computes.map((one) => one.stop));
  const logs = () => [...computes.map(({ log }) => log()), readFileSync(stack.ironic.log, "utf8")];
  const on = (node: string) => sim.power(order.indexOf(node));
  const boot = booting(stack, { image: images.disk, network, logs, on });
  await a.start();
  await offered(stack, { host: a.host, resources: "CUSTOM_BM", machines: MACHINES });
  const machines = [...order.slice(0, TENANTS).entries()];
  const tenants = await firstAlone(machines, ([at, node]) => boot(`tenant-${at}`, node));
  await b.start();
  let heard = sim.commands().length;
  return {
    ...{ stack, nova: stack.db(NOVA_DATABASES.cell), a, b, tenants, boot, folder, images, network },
    idle: order.slice(TENANTS),
    /** What BMCs were told that switches, since this was asked last: `tenant-0 power 0`. */
    told: () => {
      const all = sim.commands();
      const since = all.slice(heard);
      heard = all.length;
      return since.map((line) => line.replace(/^\d+/, (at) => nameOf(tenants, order[Number(at)])));
    },
    url: await toolUser(stack),
  };
}

function nameOf(tenants: readonly Tenant[], node = ""): string {
  return tenants.find((one) => one.node === node)?.name ?? node;
}

/** Another driver than Ironic's: its files, and what nova.conf says of it. */
interface Driven {
  readonly driver?: { readonly [file: string]: string };
  readonly conf?: { readonly [section: string]: { readonly [key: string]: string } };
  /** Seconds between two looks at power: a pass that begins before a stop is done stops once more, by Nova's own fault. */
  readonly sync?: number;
}

export function computeOf(
  stack: Stack,
  host: string,
  { driver, conf: more = {}, sync = 20 }: Driven = {},
): Compute {
  let running: ReturnType<typeof startCompute> | null = null;
  const conf = stack.nova.computeConf(host, {
    ...more,
    DEFAULT: {
      ...{ compute_driver: "ironic.IronicDriver", reserved_host_memory_mb: 0 },
      ...{ sync_power_state_interval: sync, update_resources_interval: 5, ...more.DEFAULT },
    },
  });
  const services = () => stack.db(NOVA_DATABASES.cell)("services").where({ host, deleted: 0 });
  const reports = async () => Number((await services().first("report_count"))?.report_count ?? 0);
  return {
    host,
    start: async () => {
      const before = await reports();
      const started = startCompute(conf, driver ?? null);
      running = started;
      await until(`${host} reports`, async () => {
        if (!started.running()) throw new Error(`${host} ended by itself:\n${started.log()}`);
        return (await reports()) > before ? null : "it does not";
      });
    },
    signal: (name) => running?.signal(name),
    stop: async () => {
      await running?.stop();
      running = null;
    },
    log: () => running?.log() ?? "",
  };
}

interface Booted {
  readonly image: string;
  readonly network: string;
  /** Host of the nova-compute; Nova's scheduler finds it unless given. */
  readonly host?: string;
  /** Whole logs of those who boot. */
  readonly logs: () => readonly string[];
  /** Whether the machine of a node is on. */
  readonly on: (node: string) => boolean;
}

export function booting(
  stack: Stack,
  { image: imageRef, network, host, logs, on }: Booted,
): (name: string, node: string) => Promise<Tenant> {
  return async (name, node) => {
    const server = {
      ...{ name, flavorRef: "bm", imageRef, networks: [{ uuid: network }] },
      ...{ hypervisor_hostname: node, ...(host !== undefined && { host }) },
    };
    const made = await stack.asks<{ readonly server: { readonly id: string } }>(
      ...(["nova", "POST", "/servers", { server }] as const),
    );
    const id = made?.server.id ?? "";
    await until(`${name} is ACTIVE`, () => working(stack, id));
    const told = await stack.asks<{ readonly server: { readonly status: string } }>(
      ...(["nova", "GET", `/servers/${id}`] as const),
    );
    const status = told?.server.status;
    assert.equal(status, "ACTIVE", `${name} is ${status}:\n${troubles(logs(), [id, node])}`);
    return { name, server: id, node, on: () => on(node) };
  };
}

/** What these logs call an error, of any of these or of none. */
function troubles(logs: readonly string[], uuids: readonly string[]): string {
  const named = (line: string): boolean =>
    uuids.some((uuid) => line.includes(uuid)) || !/[[]instance: /.test(line);
  return logs
    .map((log) => {
      const errors = log.split("\n").filter((line) => / ERROR /.test(line) && named(line));
      return errors.slice(-60).join("\n");
    })
    .join("\n\n");
}

/** What says in a nova-compute's log that it begins to look at all its machines, or at their power. */
const LOOKS = /Running periodic task \S+[.](_sync_power_states|update_available_resource)/g;

/**
 * Waits until a nova-compute has looked at its machines, at their power, and at them again: what it was at
 * when this was asked, and what it makes of what it finds, is done by then.
 *
 * @param since where in its log to begin: at its end unless given
 */
export async function looked(compute: Compute, since = compute.log().length): Promise<void> {
  await until(`${compute.host} looks at its machines' power`, async () => {
    const all = looksOf(compute, since);
    const compared = all.indexOf(COMPARED);
    const after = all.slice(compared + 1).filter((what) => what === TRACKED);
    return compared >= 0 && after.length > 0 ? null : all.join();
  });
  await tracked(compute, since);
}

/** Waits until its resource tracker has gone through all machines once more. */
async function tracked(compute: Compute, since = compute.log().length): Promise<void> {
  await until(`${compute.host} looks at its machines`, async () => {
    const all = looksOf(compute, since).filter((what) => what === TRACKED);
    // The second begins when the first is done.
    return all.length > 1 ? null : all.join();
  });
}

/** Waits until it has compared its machines' power several times more: one pass is over when the next begins. */
export async function comparesPower(compute: Compute): Promise<void> {
  const since = compute.log().length;
  await until(`${compute.host} compares power`, async () => {
    const seen = looksOf(compute, since).filter((what) => what === COMPARED).length;
    return seen > PASSES ? null : `${seen} times`;
  });
}

const PASSES = 3;
const COMPARED = "_sync_power_states";
const TRACKED = "update_available_resource";

function looksOf({ log }: Compute, since: number): readonly string[] {
  return [...log().slice(since).matchAll(LOOKS)].map(([, what = ""]) => what);
}

/** What the tool needs by its own word, and no right besides. */
async function toolUser({ server, db }: Stack): Promise<string> {
  const { user, url } = await server.restrictedUser("tool", NOVA_DATABASES.cell, "SELECT");
  for (const table of ["compute_nodes", "instances", "services"])
    await db(NOVA_DATABASES.cell).raw(
      `GRANT UPDATE ON ${NOVA_DATABASES.cell}.${table} TO '${user}'@'127.0.0.1'`,
    );
  return url;
}

/**
 * What a heartbeat writes, and what a resource tracker counts: one whose pass goes on while its machines leave it
 * counts nothing on them, until the next pass of whom they are of by then.
 */
export const PASSING: readonly string[] = [
  ...["updated_at", "report_count", "last_seen_up", "vcpus_used", "memory_mb_used", "stats"],
  ...["local_gb_used", "free_ram_mb", "free_disk_gb", "current_workload", "running_vms"],
];

/** Every row of a cloud by table, but for what is passing. */
export function dumped({ stack }: TwoComputes): Promise<Dump> {
  return rowsIn(stack, databasesOf(stack), (row) => ({
    ...row,
    ...Object.fromEntries(PASSING.map((column) => [column, null])),
  }));
}

/**
 * The same while no nova-compute runs: all of every row but when it was changed and how often its service reported.
 * Services that go on say in last_seen_up what they say in report_count.
 *
 * @param more databases besides
 * @param besides columns that are meant to stay changed
 */
export function dumpedWhole(
  { stack }: TwoComputes,
  more: readonly string[] = [],
  besides: readonly string[] = [],
): Promise<Dump> {
  const passing = ["updated_at", "report_count", ...besides];
  return rowsIn(stack, [...databasesOf(stack), ...more], (row) => {
    const runs = "report_count" in row && row.binary !== "nova-compute";
    const without = [...passing, ...(runs ? ["last_seen_up"] : [])];
    return { ...row, ...Object.fromEntries(without.map((column) => [column, null])) };
  });
}

function databasesOf({ ironic }: Stack): readonly string[] {
  return [NOVA_DATABASES.cell, NOVA_DATABASES.api, "placement", ironic.database];
}

/**
 * Every row of these databases.
 *
 * @param seen what of a row of a table is looked at; null: it is left out
 */
export async function rowsIn(
  stack: Pick<Stack, "db">,
  databases: readonly string[],
  seen: (row: { readonly [column: string]: unknown }, table: string) => object | null,
): Promise<Dump> {
  const all: { [row: string]: unknown } = {};
  for (const database of databases) {
    const db = stack.db(database);
    const [tables] = await db.raw("SHOW TABLES");
    for (const table of (tables as readonly object[]).flatMap((row) => Object.values(row)))
      for (const row of await db(table).select()) {
        const name = row.uuid ?? row.id ?? row.resource ?? JSON.stringify(row);
        const told = seen(row, table);
        if (told !== null) all[`${database}.${table} ${name}`] = JSON.stringify(told);
      }
  }
  return all;
}

/**
 * Stops a nova-compute where it stands, and lets Nova and the tool take it for up for a while: it writes nothing, and
 * its row stays as it is.
 */
export async function heldStill({ nova }: TwoComputes, { host, signal }: Compute): Promise<void> {
  signal("SIGSTOP");
  await reportsAhead(nova, host);
}

/** A report from a little ahead, as of a host whose clock differs. */
export async function reportsAhead(nova: Knex, host: string): Promise<void> {
  const ahead = nova.raw("UTC_TIMESTAMP() + INTERVAL 50 SECOND");
  await nova("services").where({ host, deleted: 0 }).update({ last_seen_up: ahead });
}

/** Makes the last report of a host that does not run older than Nova's limit, without waiting for that time. */
export async function aged({ nova }: TwoComputes, { host }: Compute): Promise<void> {
  await until(`${host} is silent`, async () => {
    const old = await nova("services")
      .where({ host, deleted: 0 })
      .whereRaw("last_seen_up > UTC_TIMESTAMP() - INTERVAL 61 SECOND")
      .update({ last_seen_up: nova.raw("UTC_TIMESTAMP() - INTERVAL 120 SECOND") });
    // A report that was on its way is written after the first look.
    return old === 0 ? null : "its last report was recent";
  });
}

type Dump = { readonly [row: string]: unknown };

/** Writes logs of what runs, for whoever finds the test red. */
export function keepLogs({ stack, a, b }: TwoComputes): void {
  const folder = join(process.cwd(), "runs", "two-computes");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const [name, { log }] of Object.entries({ ...stack.nova.processes, a, b }))
    writeFileSync(join(folder, `${name}.log`), log(), { mode: 0o600 });
}
