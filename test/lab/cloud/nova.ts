import { copyFileSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { locate, needsProgram } from "../binaries.ts";
import { type Daemon, startDaemon } from "../daemon.ts";
import { PYTHON, versionsOf } from "../python.ts";
import type { Server } from "../server.ts";
import { common, ini, type Sections, sqlalchemy } from "./config.ts";
import { onceMade, runAs, withSchema } from "./schema.ts";
import { answers, type Cloud, folderOf } from "./start.ts";

export const NOVA = {
  title: "Nova 26 (Zed)",
  packages: ["nova-api", "nova-conductor", "nova-scheduler", "nova-compute"],
} as const;

const PROGRAMS = ["nova-conductor", "nova-scheduler", "nova-api"] as const;

/** Its databases' names; cell_mappings of what is kept has them as templates. */
export const NOVA_DATABASES = { api: "nova_api", cell0: "nova_cell0", cell: "nova_cell1" } as const;

export interface NovaClocks {
  /** Seconds between two looks of its scheduler for hosts that it does not know: 2 unless given. */
  readonly discovers?: number;
}

export interface LockedNova extends NovaClocks {
  readonly server: Server;
  readonly cloud: Pick<Cloud, "ports" | "authtoken">;
  readonly broker: string;
  readonly urls: { readonly [service in "placement" | "neutron" | "ironic"]: string };
  /** Folder for its schema, once made. */
  readonly kept: string;
}

/** A process of Nova, whose log can be read while it runs. */
export interface Process {
  readonly log: () => string;
  /** Ends it; its log is kept at `to`. */
  readonly stop: (to?: string) => Promise<void>;
}

/**
 * Starts Nova's conductor, scheduler and API, with one cell, beside a cloud's Keystone. They die with this process.
 * @throws Error when it is not installed
 */
export async function startNova(place: LockedNova) {
  for (const name of [...PROGRAMS, "nova-compute"]) needsProgram(name, NOVA);
  const { server, cloud, kept } = place;
  const config = ini(sections(place));
  const [version] = versionsOf(["nova"]);
  const key = `nova-${version}`;
  const make = () => makeCells(config, server, key);
  await withSchema(server, Object.values(NOVA_DATABASES), { kept, key, make });
  const processes = Object.fromEntries(
    PROGRAMS.map((name) => [name, start([locate(name) ?? name], config)]),
  );
  const url = `http://127.0.0.1:${cloud.ports.nova}`;
  const api = processes["nova-api"];
  if (api !== undefined) await answers("nova-api", `${url}/`, api.daemon, api.path);
  return {
    url,
    processes,
    /** A nova.conf for a nova-compute, as its operator has it: with what is not of one host. */
    computeConf: (host: string, own: Sections) => ini(computeSections(place, host, own)),
    stop: async () => {
      await Promise.all(Object.values(processes).map((one) => one.stop()));
    },
  };
}

export type Nova = Awaited<ReturnType<typeof startNova>>;

/**
 * Starts a nova-compute of this nova.conf. It dies with this process.
 * @param driver programs of a driver of ours, file name to text: `nova_compute.py` is run in place of the packaged
 * nova-compute
 */
export function startCompute(conf: string, driver: { readonly [file: string]: string } | null) {
  const program = driver === null ? [locate("nova-compute") ?? ""] : [PYTHON, "nova_compute.py"];
  const made = start(program, conf, driver ?? {});
  const { running, signal } = made.daemon;
  return { ...made, running, signal };
}

function start(
  program: readonly string[],
  conf: string,
  files: { readonly [file: string]: string } = {},
): Process & { readonly daemon: Daemon; readonly path: string } {
  const { user, folder } = folderOf("nova", (at) => {
    const own = { DEFAULT: { state_path: at }, oslo_concurrency: { lock_path: at } };
    return { "nova.conf": conf, "own.conf": ini({ ...common({ folder: at }), ...own }), ...files };
  });
  const options = { folder, signal: "TERM", owner: user } as const;
  const daemon = startDaemon(["mkdir", "policy.d", "instances"], [...program, ...CONFIGS], options);
  const path = join(folder, "log");
  return {
    daemon,
    path,
    // One that ended by itself has taken its folder with it.
    log: () => (existsSync(path) ? readFileSync(path, "utf8") : daemon.lastWords()),
    stop: async (to) => {
      if (to !== undefined && existsSync(path)) copyFileSync(path, to);
      await daemon.stop();
    },
  };
}

const CONFIGS = ["--config-file", "nova.conf", "--config-file", "own.conf"];

/** @param key of the tables that every Nova of this version has */
async function makeCells(config: string, server: Server, key: string): Promise<void> {
  const { user, folder } = folderOf("nova", (at) => ({
    ...{ "nova.conf": config, "own.conf": ini(common({ folder: at })) },
  }));
  const manage = (...words: readonly string[]) =>
    runAs(user, folder, [locate("nova-manage") ?? "", ...CONFIGS, ...words]);
  const database = (name: string) =>
    `{scheme}://{username}:{password}@{hostname}:{port}/${name}?{query}`;
  const make = async (): Promise<void> => {
    await manage("api_db", "sync");
    await manage("db", "sync", "--local_cell");
  };
  try {
    await onceMade(server, [NOVA_DATABASES.api, NOVA_DATABASES.cell], { key, make });
    await manage("cell_v2", "map_cell0", "--database_connection", database(NOVA_DATABASES.cell0));
    const broker = "{scheme}://{username}:{password}@{hostname}:{port}/";
    const cell = [
      "--database_connection",
      database(NOVA_DATABASES.cell),
      "--transport-url",
      broker,
    ];
    await manage("cell_v2", "create_cell", "--name", "cell1", ...cell);
    // Of the first cell: the other's are there.
    await manage("db", "sync");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Short intervals, so that nobody waits; what endangers machines is as Nova ships it. */
function sections(place: LockedNova): Sections {
  const { server, cloud, broker, discovers = 2 } = place;
  return {
    DEFAULT: {
      ...{ host: "controller", my_ip: "127.0.0.1", transport_url: broker },
      ...{ enabled_apis: "osapi_compute", osapi_compute_listen: "127.0.0.1" },
      ...{ osapi_compute_listen_port: cloud.ports.nova, osapi_compute_workers: 1 },
      ...{ report_interval: 2, periodic_fuzzy_delay: 0 },
    },
    wsgi: { api_paste_config: "/usr/share/nova-common/api-paste.ini" },
    api_database: { connection: sqlalchemy(server, NOVA_DATABASES.api) },
    database: { connection: sqlalchemy(server, NOVA_DATABASES.cell) },
    api: { auth_strategy: "keystone" },
    quota: { instances: -1, cores: -1, ram: -1 },
    conductor: { workers: 1 },
    scheduler: { workers: 1, discover_hosts_in_cells_interval: discovers },
    ...clients(place),
  };
}

function computeSections(place: LockedNova, host: string, own: Sections): Sections {
  const base: Sections = {
    DEFAULT: {
      ...{ host, my_ip: "127.0.0.1", transport_url: place.broker },
      ...{ report_interval: 2, periodic_fuzzy_delay: 0, update_resources_interval: 10 },
      ...{ sync_power_state_interval: 5, vif_plugging_is_fatal: false },
      // A line each time, and no other of what it logs at DEBUG.
      default_log_levels: "oslo_service.periodic_task=DEBUG,urllib3=WARN,stevedore=WARN",
    },
    vnc: { enabled: false },
    ...clients(place),
  };
  const names = new Set([...Object.keys(base), ...Object.keys(own)]);
  return Object.fromEntries([...names].map((name) => [name, { ...base[name], ...own[name] }]));
}

/** How Nova reaches the other services: the cloud's one account, no catalog. */
function clients({ cloud, urls }: LockedNova): Sections {
  const at = (url: string) => ({ ...cloud.authtoken, endpoint_override: url });
  return {
    keystone_authtoken: cloud.authtoken,
    placement: at(urls.placement),
    neutron: at(urls.neutron),
    // How long Nova waits for a machine to be torn down, too: a busy lab does not do six in a minute.
    ironic: { ...at(urls.ironic), api_max_retries: 300, api_retry_interval: 1 },
    glance: { endpoint_override: `http://127.0.0.1:${cloud.ports.glance}` },
  };
}
