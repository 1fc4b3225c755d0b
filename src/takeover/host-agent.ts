import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MigrationError, orMessage } from "../lib/error.ts";
import { runProgram } from "../lib/files/run-program.ts";
import { BATCH } from "../lib/streams.ts";
import { counted } from "../lib/text.ts";
import { isUuid } from "../lib/uuid.ts";
import type { Privileges } from "../model/database.ts";
import { closing, openRole } from "../run/databases.ts";
import { processContext } from "../run/process-context.ts";
import { readServer } from "../systems/database/identity.ts";
import type { Database } from "../systems/database/open.ts";
import { read } from "../systems/database/read.ts";
import { lower, spellings, text } from "../systems/database/rows.ts";
import { isUnanswered } from "../systems/database/statement.ts";
import { mayRead, needRights } from "../systems/nova-db/host-rights.ts";
import { openServices } from "../systems/nova-db/services.ts";
import { bootsOf } from "../systems/tftp/rules/legacy.ts";
import { openTrees, readText, type Tree } from "../systems/tftp/tree.ts";
import { type AgentOptions, openTaker } from "./agent/agent-taker.ts";
import type { Opening } from "./baremetal/legacy-ports.ts";
import { beginLease, publishBoot, readLeases, renewLease } from "./leases/leases.ts";
import { instanceOwners } from "./leases/nodes.ts";
import { needLeases } from "./leases/schema.ts";

interface OpenedAgent {
  /** `waiting`: Nova has no new report from the host's nova-compute. */
  readonly pass: () => Promise<"beat" | "waiting" | "fenced">;
  /** Waits for background work of the last interval. */
  readonly settle: () => Promise<unknown>;
}

/** @throws MigrationError N2I-E100, N2I-E206, N2I-E360, N2I-E363 if it was fenced, N2I-E364 */
export async function runAgent(
  options: AgentOptions,
  report: (text: string) => void,
): Promise<void> {
  const { host, interval, ttl } = options;
  if (ttl < 3 * interval)
    throw new MigrationError(
      "N2I-E100",
      "--ttl must be at least three times --interval, because a heartbeat may be late or lost",
    );
  const interrupt = processContext().onInterrupt({
    stopping: `Stopping: no further heartbeat. The lease of ${host} expires in ${ttl} s.`,
    reload: () => undefined,
  });
  const { signal } = interrupt;
  try {
    await withAgent(options, report, async ({ pass }) => {
      while (!signal.aborted) {
        const result = await pass().catch((error: unknown) => {
          // An unreachable database does not end the agent: the lease decides whether the host is up.
          if (!(error instanceof MigrationError)) throw error;
          if (!isUnanswered(error) && error.code !== "N2I-E207") throw error;
          report(`No heartbeat: ${error.message}. Another attempt follows.`);
        });
        if (result === "fenced") await fenced(options, report);
        // Rejects only on the signal.
        await sleep(interval * 1000, undefined, { signal }).catch(() => undefined);
      }
    });
  } finally {
    interrupt.end();
  }
}

/** Runs the site's --on-fenced program. @throws MigrationError N2I-E363 always */
async function fenced(
  { host, onFenced: program }: AgentOptions,
  report: (text: string) => void,
): Promise<never> {
  if (program !== undefined) {
    const { HOME = "/" } = processContext().env;
    const environment = { HOME, NOVA2IRONIC_HOST: host };
    const command = { name: "--on-fenced", program, args: [], environment };
    const limits = { deadline: FENCING, signal: new AbortController().signal };
    const ran = await orMessage(
      runProgram({ ...command, fix: "Specify an executable program." }, limits),
    );
    const ended =
      typeof ran === "string"
        ? ran
        : ran.stopped === "late"
          ? `was killed after ${FENCING / 1000} s`
          : `ended with ${ran.status ?? "a signal"}`;
    report(`--on-fenced ${program}: ${ended}.`);
  }
  throw fencedError(host);
}

function fencedError(host: string): MigrationError {
  return new MigrationError(
    "N2I-E363",
    `${host} was fenced: another host has or takes over its machines`,
  );
}

/** Time limit of the site's program, in milliseconds. */
const FENCING = 60_000;

/** @param clock monotonic milliseconds @throws MigrationError as `runAgent` */
export function withAgent<T>(
  options: AgentOptions,
  report: (text: string) => void,
  work: (agent: OpenedAgent) => Promise<T>,
  clock: () => number = () => performance.now(),
): Promise<T> {
  return closing(async (keep) => {
    const { host, ttl, myIp, tftpRoot } = options;
    const leases = keep(
      await openRole("nova-bm-db", options.novaBmDb, { readOnly: false, autocommit: true }),
    );
    const nova = keep(await openRole("nova-db", options.novaDb, { readOnly: true }));
    await needLeases(leases);
    const rights = [...RIGHTS].filter(([table]) => options.take || table !== "bm_locks");
    await needRights(leases, new Map(rights));
    await mayRead(nova, ["services", "instances"]);
    await sameTime([leases, nova], ttl * 1000);
    const [tree] = tftpRoot === undefined ? [] : await openTrees([tftpRoot], "--tftp-root");
    const leaseFields = {
      ...{ host, ttl: ttl * 1000, takes: options.take },
      ...{ my_ip: myIp ?? null, tftp_root: tree?.root ?? null },
    };
    const services = await openServices(nova);
    const taker = options.take
      ? await openTaker(options, { leases, services, report, clock }, keep)
      : null;
    const publish = tree === undefined ? null : bootRecords({ leases, nova, report }, tree, host);
    let lastCount: number | null = null;
    let lastState = "";
    let lease: Awaited<ReturnType<typeof beginLease>> = null;
    const reportState = (state: string): void => {
      if (state !== lastState) report(`nova-compute of ${host} ${state}.`);
      lastState = state;
    };
    async function beat(): ReturnType<OpenedAgent["pass"]> {
      const all = await services(taker === null ? [host] : undefined);
      const count = all.find((one) => one.host === host)?.report_count ?? null;
      const first = lastCount === null;
      if (first && count === null)
        throw new MigrationError("N2I-E107", `Nova has no nova-compute on a host ${host}`);
      const grew = lastCount !== null && count !== null && count > lastCount;
      lastCount = count ?? lastCount;
      if (!grew) {
        // A single read shows no progress.
        if (!first) reportState("has no new report: its lease is not renewed");
        // A nova-compute that does not report may continue later, so it must be stopped as well.
        const [now] = await readLeases(leases, host);
        const isOther = lease !== null && lease.epoch !== now?.epoch;
        return isOther || (now?.fenced_by ?? null) !== null ? "fenced" : "waiting";
      }
      if (lease === null) lease = await beginLease(leases, leaseFields);
      else if (!(await renewLease(leases, lease))) return "fenced";
      if (lease === null) return "fenced";
      const every = `every ${options.interval} s and lasts ${ttl} s`;
      reportState(`reports: its lease is renewed ${every}`);
      // Takeovers and publishing each need a statement, and an interval allows only one.
      if (taker === null || !(await taker.attempt(all))) await publish?.();
      return "beat";
    }
    try {
      return await work({
        async pass() {
          const result = await beat();
          // This comes first, because a fenced host must not power off another host.
          if (result === "fenced") taker?.stop(fencedError(host));
          return result;
        },
        settle: async () => taker?.settle(),
      });
    } finally {
      await taker?.end();
    }
  });
}

const ADDING = new Set(["SELECT", "INSERT", "UPDATE"] as const);
const RIGHTS: Privileges = new Map([
  ["bm_service_leases", ADDING],
  ["bm_boot_records", ADDING],
  ["bm_nodes", new Set(["SELECT", "UPDATE"] as const)],
  ["bm_locks", ADDING],
]);

/** @throws MigrationError N2I-E364 if clocks differ by more than a sixth of the lease */
async function sameTime(databases: readonly Database[], ttl: number): Promise<void> {
  const facts = await Promise.all(databases.map((one) => readServer(one, one.label, Date.now)));
  const skews = facts.flatMap((one) => one.skew ?? []);
  const apart = Math.max(...skews) - Math.min(...skews);
  if (!(apart > ttl / 6)) return;
  throw new MigrationError(
    "N2I-E364",
    `the clocks of ${databases.map(({ label }) => label).join(" and ")} differ by ${Math.round(apart / 1000)} s, but a lease of ${ttl / 1000} s allows ${Math.round(ttl / 6000)} s`,
  );
}

/**
 * Publishes changed boot files. A call makes at most one statement, so as not to delay the
 * heartbeat.
 *
 * @returns a function to call once per interval
 */
function bootRecords(
  { leases, nova, report }: Omit<Opening, "keep">,
  tree: Tree,
  host: string,
): () => Promise<void> {
  const published = new Map<string, string>();
  let round: AsyncGenerator<undefined, void> | null = null;
  async function* publishing(): AsyncGenerator<undefined, void> {
    const changed = await changedFiles(tree, published);
    const uuids = [...changed.keys()];
    if (uuids.length === 0) return;
    const owners = await instanceOwners(leases, uuids);
    const owned = owners.filter(({ service_host }) => service_host === host);
    yield;
    const images = await read(
      nova,
      { uuid: lower, kernel_id: text, ramdisk_id: text },
      "instances WHERE deleted = 0 AND uuid IN (...)",
      spellings(uuids),
    );
    yield;
    const records = await Promise.all(
      uuids
        .filter((uuid) => owned.some((row) => row.instance_uuid.toLowerCase() === uuid))
        .map(async (uuid) => {
          const { kernel_id, ramdisk_id } = images.find((row) => row.uuid === uuid) ?? {};
          const ids = { kernel_id: kernel_id || null, ramdisk_id: ramdisk_id || null };
          return { instance_uuid: uuid, root_uuid: await rootOf(tree, uuid), ...ids };
        }),
    );
    await publishBoot(leases, host, records);
    for (const [uuid, mark] of changed) published.set(uuid, mark);
    const unknown = records.filter(({ root_uuid }) => root_uuid === null).length;
    const without = unknown === 0 ? "" : `. ${unknown} of them have no root filesystem`;
    if (records.length > 0)
      report(`Published the boot files of ${counted(records.length, "machine")}${without}.`);
  }
  return async () => {
    round ??= publishing();
    try {
      if ((await round.next()).done === true) round = null;
    } catch (error) {
      round = null; // the next round repeats it
      throw error;
    }
  };
}

async function changedFiles(
  { root }: Tree,
  published: Map<string, string>,
): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(root)).filter(isUuid);
  const uuids = new Set(names.map((name) => name.toLowerCase()));
  for (const uuid of published.keys()) if (!uuids.has(uuid)) published.delete(uuid);
  const changed = new Map<string, string>();
  for (const name of names) {
    if (changed.size === BATCH) break;
    const found = await stat(join(root, name, "config")).catch(() => null);
    if (found === null) continue;
    const mark = `${found.mtimeMs} ${found.size} ${found.ino}`;
    const uuid = name.toLowerCase();
    if (published.get(uuid) !== mark) changed.set(uuid, mark);
  }
  return changed;
}

/** Null if the boot file does not boot the tenant yet. */
async function rootOf(tree: Tree, uuid: string): Promise<string | null> {
  const content = await readText(tree, `${uuid}/config`);
  return content.kind === "text" ? bootsOf(content.text) : null;
}
