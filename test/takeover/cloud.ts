import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Knex } from "knex";
import type { Engine } from "../../src/model/database.ts";
import { type CaseRow, caseUuid } from "../cases/case.ts";
import { loadNova } from "../cases/load-case.ts";
import { run } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { CLOCK, whileItWaits } from "../lab/bmc/quick-clock.ts";
import { addressFile, withDatabase } from "../lab/index.ts";
import { requestsIn } from "../support/requests.ts";
import { onlyUnderLock } from "../support/under-lock.ts";

/** Rights of the user who moves machines, and no other. */
const RIGHTS = "SELECT, UPDATE";

export const uuidOf = caseUuid;

/** For a command in a process of its own, which waits for as long. */
export const BRIEF: readonly string[] = ["--service-down-time", "0.1"];
/** Nova's default where the clock is the test's: living hosts stay alive however slow the machine is. */
export const QUICK: readonly string[] = CLOCK.clock ? ["--service-down-time", "60"] : BRIEF;
/** Of H1's machines, to H2. */
export const TAKE: readonly string[] = ["host", "takeover", "--from", "H1", "--to", "H2"];
export const DOWN: readonly string[] = [...TAKE, ...QUICK, "--confirmed-down"];
/** What DOWN says behind the command. */
export const FROM_H1: readonly string[] = DOWN.slice(2);
export const PLAN: readonly string[] = ["host", "plan", "--from", "H1", "--to", "H2", ...QUICK];
export const MOVE: readonly string[] = ["host", "move", "--yes"];
export const DEAD = { H1: { forced_down: false } };

export function ago(seconds: number): string {
  return new Date(Date.now() - seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
}

/** Nova's versions as tables are made, and how their rows look. */
export type Shape = 254 | 280 | 302 | "8f2f1571d55b" | "ab450ba04102";

interface Computed {
  readonly shape?: Shape;
  /** Machines of H1: those with an odd number have a tenant. */
  readonly machines?: number;
  /** All of them have one. */
  readonly tenants?: boolean;
  /** Whether compute_nodes names the service, as 28.0.0 does; always before Kilo. */
  readonly bound?: boolean;
  readonly services?: { readonly [host: string]: CaseRow };
  readonly engine?: Engine;
}

export async function loadHosts(db: Knex, engine: Engine, wanted: Computed): Promise<void> {
  const { shape = "8f2f1571d55b", machines = 4, services = {}, tenants = false } = wanted;
  const old = shape === 254;
  const bound = wanted.bound ?? old;
  const hosts = ["H1", "H2", "H3"];
  await loadNova(db, engine, {
    shows: "machines of Ironic on three compute hosts",
    nova_bm: { nodes: [] },
    nova: {
      version: shape,
      info_caches: [],
      flavors: [],
      extra_specs: [],
      instances: numbers(machines)
        .filter((id) => tenants || id % 2 === 1)
        .map((id) => ({
          ...{ id, uuid: uuidOf("instance", id), node: uuidOf("node", id), host: "H1" },
          ...{ vm_state: "active", task_state: null, deleted: 0, launched_on: "H1" },
        })),
      services: hosts.map((host, at) => serviceRow(at + 1, host, { ...services[host] }, shape)),
      compute_nodes: [
        ...numbers(machines).map((id) => computeOf(id, uuidOf("node", id), "H1", bound ? 1 : null)),
        computeOf(9000001, uuidOf("node", 9000001), "H2", bound ? 2 : null),
        computeOf(9000002, uuidOf("node", 9000002), "H3", bound ? 3 : null),
      ],
    },
  });
  await requestsIn(db);
}

/** The same, where nobody has forced H1 down. */
export function deadCloud(t: TestContext, wanted: Computed = {}): Promise<HostCloud> {
  return hostCloud(t, { services: DEAD, ...wanted });
}

/** A cloud of Ironic's driver: H1 is dead and forced down, H2 and H3 report. */
export async function hostCloud(t: TestContext, wanted: Computed = {}) {
  const { shape = "8f2f1571d55b", machines = 4, engine = "sqlite", services = {} } = wanted;
  const made = await withDatabase(engine, t);
  const { db } = made;
  await loadHosts(db, engine, { ...wanted, shape, machines, services });
  await onlyUnderLock(made);
  const folder = privateFolder(t);
  mkdirSync(join(folder, "runs"), { mode: 0o700 });
  const account = await made.server?.restrictedUser("moves", made.name, RIGHTS);
  const nova = ["--nova-db", addressFile(folder, "nova", account?.url ?? made.url)];
  const at = ["--run", join(folder, "runs", "h1")];
  const byHost = shape !== 254;
  let reported = performance.now();
  return {
    ...{ folder, made, db, nova, at },
    /** Runs `host` or another command on the cloud's own run. */
    async host(...words: readonly string[]) {
      if (performance.now() - reported > (AHEAD / 3) * 1000) {
        reported = performance.now();
        await reportAgain(db);
      }
      return run([...words, ...(words.includes("--run") ? [] : at), ...nova]);
    },
    /** What Nova says who serves each machine: owner, service and instance's host. */
    async owners() {
      const computes = await db("compute_nodes")
        .where({ deleted: 0 })
        .orderBy("id")
        .select("hypervisor_hostname", "service_id", ...(byHost ? ["host"] : []));
      const instances = await db("instances").where({ deleted: 0 }).select("node", "host");
      return computes.map((row) => {
        const tenant = instances.find(({ node }) => node === row.hypervisor_hostname);
        const number = Number(String(row.hypervisor_hostname).slice(-12));
        return [number, row.host ?? "-", row.service_id ?? "NULL", tenant?.host ?? "-"].join(" ");
      });
    },
    async services() {
      const rows: readonly CaseRow[] = await db("services").orderBy("id").select();
      // Others go on reporting.
      return rows.map(({ last_seen_up, updated_at, ...row }) =>
        row.host === "H1"
          ? { ...row, last_seen_up: last_seen_up ?? null, updated_at: updated_at ?? null }
          : row,
      );
    },
  };
}

export type HostCloud = Awaited<ReturnType<typeof hostCloud>>;

/** `--site`, of a document that takes requests to these machines for lost. */
export function takenForLost(folder: string, match: object = {}): readonly string[] {
  const site = join(folder, "site.json");
  const machines = [{ match, accept: [{ finding: "N2I-D260", reason: "its queue is emptied" }] }];
  writeFileSync(site, JSON.stringify({ format: "nova2ironic/site@1", machines }));
  return ["--site", site];
}

/** The last line of a run's journal, cut off: the command died before it was written. */
export function forgetLast([, run = ""]: readonly string[]): string {
  const path = join(run, "journal.jsonl");
  const lines = readFileSync(path, "utf8").split(/^/m);
  const last = lines.pop() ?? "";
  writeFileSync(path, lines.join(""));
  return last;
}

/** As nova-compute of H1 reports, once. */
export const reportH1 = (db: Knex) => serviceOf(db, "H1").increment("report_count", 1);

/** The same whenever this command waits. */
export function reportsOn<T>(db: Knex, command: () => Promise<T>): Promise<T> {
  return whileItWaits(() => reportH1(db), command);
}

export async function reportAgain(db: Knex): Promise<void> {
  const seen = await db.schema.hasColumn("services", "last_seen_up");
  const now = { updated_at: ago(-AHEAD), ...(seen && { last_seen_up: ago(-AHEAD) }) };
  await db("services").whereNot({ host: "H1" }).update(now);
}

export const serviceOf = (db: Knex, host: string) => db("services").where({ host });

function numbers(count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => at + 1);
}

/** Seconds: a report this far ahead is only clocks that differ, and is none that is long ago for as long. */
export const AHEAD = 55;

function serviceRow(id: number, host: string, more: CaseRow, shape: Shape): CaseRow {
  const seen = host === "H1" ? ago(600) : ago(-AHEAD);
  return {
    ...{ id, host, binary: "nova-compute", topic: "compute", report_count: 100 + id, deleted: 0 },
    ...{ created_at: ago(9000), updated_at: seen, last_seen_up: seen, disabled_reason: null },
    ...{ disabled: shape === 254 && host === "H1", forced_down: host === "H1", version: 60 },
    ...more,
  };
}

function computeOf(id: number, node: string, host: string, service_id: number | null): CaseRow {
  return {
    ...{ id, service_id, host, hypervisor_hostname: node, hypervisor_type: "ironic", deleted: 0 },
    ...{ vcpus: 8, memory_mb: 1024, local_gb: 10, vcpus_used: 0, memory_mb_used: 0 },
    ...{ local_gb_used: 0, hypervisor_version: 1, cpu_info: "{}", mapped: 1, deleted_at: null },
    ...{ uuid: node },
  };
}
