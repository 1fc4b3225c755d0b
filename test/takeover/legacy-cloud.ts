import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Knex } from "knex";
import type { Engine } from "../../src/model/database.ts";
import type { LegacyMove } from "../../src/model/nova/legacy-move.ts";
import { closing } from "../../src/run/databases.ts";
import { openRun } from "../../src/run/files/run-folder.ts";
import { markKind } from "../../src/run/files/run-kind.ts";
import { openLegacyClients } from "../../src/takeover/baremetal/legacy-clients.ts";
import { extendSchema } from "../../src/takeover/leases/schema.ts";
import type { HostOptions } from "../../src/takeover/target.ts";
import type { CaseRow } from "../cases/case.ts";
import { loadNova, loadNovaBm } from "../cases/load-case.ts";
import { run } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { whileItWaits } from "../lab/bmc/quick-clock.ts";
import { addressFile, type TestDatabase, withDatabase } from "../lab/index.ts";
import { requestsIn } from "../support/requests.ts";
import { AHEAD, ago, uuidOf } from "./cloud.ts";
import { opened } from "./leases/place.ts";

interface Loaded {
  readonly engine: Engine;
  readonly hosts: readonly string[];
  /** The host of each machine: those of the first host with an odd number have a tenant. */
  readonly owners: ReadonlyMap<number, string>;
  readonly services?: { readonly [host: string]: CaseRow };
}

/** nova-baremetal of Juno: the first host is dead, and others report; nova_bm is extended. */
export async function loadMachines(t: TestContext, loaded: Loaded) {
  const { engine, hosts, owners, services = {} } = loaded;
  const [bm, nova] = [await withDatabase(engine, t), await withDatabase(engine, t)];
  const all = [...owners];
  const used = all.flatMap(([id, host]) => (host === hosts[0] && id % 2 === 1 ? [id] : []));
  const given = {
    shows: "machines of nova-baremetal on compute hosts",
    nova_bm: {
      nodes: all.map(([id, service_host]) => ({
        ...{ id, uuid: uuidOf("node", id), service_host },
        instance_uuid: used.includes(id) ? uuidOf("instance", id) : null,
        task_state: used.includes(id) ? "active" : null,
      })),
    },
    nova: {
      version: 254,
      services: hosts.map((host, at) => ({
        ...{ id: at + 1, host, binary: "nova-compute", topic: "compute", report_count: 100 + at },
        ...{ created_at: ago(9000), updated_at: ago(at === 0 ? 600 : -AHEAD), deleted: 0 },
        ...{ disabled: false, disabled_reason: null, ...services[host] },
      })),
      instances: used.map((id) => ({
        ...{ id, uuid: uuidOf("instance", id), node: uuidOf("node", id), host: hosts[0] ?? "" },
        ...{ vm_state: "active", task_state: null, deleted: 0, launched_on: hosts[0] ?? "" },
        ...{ locked: false, locked_by: null },
      })),
      compute_nodes: all.map(([id, host]) => ({
        ...{ id, service_id: hosts.indexOf(host) + 1, hypervisor_hostname: uuidOf("node", id) },
        ...{ vcpus: 8, memory_mb: 1024, local_gb: 10, deleted: 0, cpu_info: "baremetal cpu" },
        ...{ vcpus_used: 0, memory_mb_used: 0, local_gb_used: 0 },
        ...{ hypervisor_type: "baremetal", hypervisor_version: 1 },
      })),
    },
  };
  await loadNovaBm(bm.db, engine, given);
  await loadNova(nova.db, engine, given);
  await requestsIn(nova.db);
  await extendSchema(await opened(bm.url, t));
  return { bm, nova };
}

/** These machines, all of the first host. */
export function ownedBy(host: string, machines: number): Map<number, string> {
  return new Map(Array.from({ length: machines }, (_, at) => [at + 1, host]));
}

interface Computed extends Pick<Loaded, "services"> {
  readonly engine?: Engine;
  readonly machines?: number;
  /** What commands have besides: how they log in. */
  readonly env?: { readonly [name: string]: string };
}

/** Machines of A; B and C have one each. */
export async function legacyCloud(
  t: TestContext,
  { engine = "sqlite", machines = 4, services = {}, env = {} }: Computed = {},
) {
  const owners = ownedBy("A", machines).set(90, "B").set(91, "C");
  const made = await loadMachines(t, { engine, hosts: ["A", "B", "C"], owners, services });
  const { bm, nova } = made;
  const folder = privateFolder(t);
  mkdirSync(join(folder, "runs"), { mode: 0o700 });
  const words = {
    novaBmDb: addressFile(folder, "bm", await accountUrl(bm, "legacybm", "SELECT, INSERT, UPDATE")),
    novaDb: addressFile(folder, "nova", await accountUrl(nova, "legacynova", "SELECT, UPDATE")),
  };
  const places = ["--nova-bm-db", words.novaBmDb, "--nova-db", words.novaDb];
  const own = ["--run", join(folder, "runs", "h1")];
  let reported = performance.now();
  return {
    ...{ folder, bm: bm.db, nova: nova.db, made, places },
    /** Runs `host` or another command on the cloud's own run. */
    async host(...said: readonly string[]) {
      // It takes minutes on a busy machine: living hosts report meanwhile.
      if (performance.now() - reported > (AHEAD / 3) * 1000) {
        reported = performance.now();
        const living = nova.db("services").whereNot({ host: "A" });
        await living.update({ updated_at: ago(-AHEAD) });
      }
      const words = [
        ...[...said, ...(said.includes("--run") ? [] : own)],
        ...(said[0] === "host" ? places : places.slice(2)),
      ];
      return run(words, { env });
    },
    rows: () => rowsOf(bm.db, nova.db),
    /** Both databases whole, without what no move restores. */
    dump: async () => JSON.stringify([await dumped(bm.db, BM), await dumped(nova.db, NOVA)]),
    withPlace: <T>(work: (place: Place) => Promise<T>, more: HostOptions = {}) =>
      inPlace({ ...words, ...more }, work),
    runOf: (name: string) => runAt(join(folder, "runs", name)),
  };
}

export type LegacyCloud = Awaited<ReturnType<typeof legacyCloud>>;

type Place = Awaited<ReturnType<typeof openLegacyClients>>;

/** Opens what a move of such machines needs, for the time of `work`. */
export function inPlace<T>(
  at: Parameters<typeof openLegacyClients>[0],
  work: (place: Place) => Promise<T>,
): Promise<T> {
  return closing(async (keep) =>
    work(await openLegacyClients(at, keep, { readOnly: false }, () => undefined)),
  );
}

export async function runAt(path: string) {
  const run = await openRun(path, { create: true });
  await markKind(run, { kind: "takeover", variant: "baremetal" }, "host agent");
  return run;
}

export const LEASE = { host: "A", epoch: 2, heartbeat_ms: 1, ttl_ms: 60_000 };

export async function fencedCloud(t: TestContext, machines: number): Promise<LegacyCloud> {
  const cloud = await legacyCloud(t, { machines });
  await cloud.bm("bm_service_leases").insert({ ...LEASE, fenced_by: "B" });
  return cloud;
}

async function accountUrl({ server, name, url }: TestDatabase, user: string, rights: string) {
  return (await server?.restrictedUser(user, name, rights))?.url ?? url;
}

const BM = ["bm_nodes", "bm_interfaces", "bm_service_leases", "bm_boot_records"];
const NOVA = ["instances", "compute_nodes", "services"];

/** Rows but for what living hosts write there all the while. */
async function dumped(db: Knex, tables: readonly string[]): Promise<readonly string[]> {
  const rows: object[] = [];
  for (const table of tables)
    for (const { service_epoch: _, ...row } of await db(table)) {
      const reports = table === "services" && row.host !== "A";
      rows.push(reports ? { ...row, updated_at: null } : row);
    }
  // A row that was changed stands elsewhere on PostgreSQL.
  return rows.map((row) => JSON.stringify(row)).toSorted();
}

/** What both databases say of each machine, and of what else a move must leave alone. */
async function rowsOf(bm: Knex, nova: Knex) {
  const nodes = await bm("bm_nodes").orderBy("id");
  const instances = await nova("instances").where({ deleted: 0 });
  const services: readonly CaseRow[] = await nova("services");
  const hostOf = ({ service_id }: CaseRow) =>
    services.find(({ id }) => Number(id) === Number(service_id))?.host;
  const computes = await nova("compute_nodes").where({ deleted: 0 }).orderBy("id");
  return {
    machines: nodes.map((row) => {
      const tenant = instances.find(({ uuid }) => uuid === row.instance_uuid);
      const state = tenant === undefined ? [] : [tenant.host, tenant.task_state, tenant.locked];
      const said = [row.service_host, row.service_epoch, row.task_state, row.prev_task_state];
      return [row.id, ...said, "|", ...state].map((one) => text(one)).join(" ");
    }),
    computes: computes.map(
      (row) => `${row.id} ${hostOf(row)} ${String(row.hypervisor_hostname).slice(-2)}`,
    ),
  };
}

function text(value: unknown): string {
  if (value === null) return "-";
  return typeof value === "boolean" ? String(Number(value)) : String(value);
}

/** A machine of the cloud that goes to a host, as its plan has it. */
export function moveOf(id: number, to = "B"): LegacyMove {
  const used = id % 2 === 1;
  const [node, state] = [uuidOf("node", id), used ? "active" : null];
  return {
    ...{ id, uuid: node, from: "A", to, epoch: 0, before: state, after: state, begun: false },
    tenant: used
      ? {
          ...{ id, uuid: uuidOf("instance", id), node, host: "A", locked: false },
          ...{ task_state: null, before: "active", after: "active" },
        }
      : null,
    boots: false,
  };
}

/** A's nova-compute reports for the time of `work`: it has by then, and does again while somebody watches. */
export async function reporting<T>({ nova }: LegacyCloud, work: () => Promise<T>): Promise<T> {
  const now = () => report(nova, ["A"]);
  await now();
  return whileItWaits(now, work);
}

export async function report(nova: Knex, hosts: readonly string[], age = 0): Promise<void> {
  const counted = { report_count: nova.raw("report_count + 1"), updated_at: ago(age) };
  await nova("services").whereIn("host", hosts).update(counted);
}
