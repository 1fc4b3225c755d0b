import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { packageRoot } from "../../src/run/files/package-root.ts";
import { NOVA_DATABASES, startCompute } from "../../test/lab/cloud/nova.ts";
import { PLACEMENT_DATABASE } from "../../test/lab/cloud/placement.ts";
import { startDaemon } from "../../test/lab/daemon.ts";
import { owner, privateFolder } from "../../test/lab/folder.ts";
import { machinesOf, startAgents, waitingIn } from "./agent.ts";
import {
  bootServers,
  fillLegacy,
  HOST,
  LEGACY_DATABASE,
  type Machines,
  NEW_HOST,
  RESOURCE_CLASS,
  registerImages,
  type Served,
  schedulable,
} from "./base.ts";
import { watchMemory } from "./memory.ts";
import { registerNetwork } from "./network.ts";
import { type Observer, observer } from "./observe.ts";
import { type Product, product } from "./product.ts";
import { type Restore, save } from "./saved.ts";
import type { Act, By, Fleet, Listed, Moment, ObservedState } from "./seen.ts";
import { type Stack, type StackOptions, startStack } from "./stack.ts";

/** nova.virt.baremetal's and Ironic's, as a nova.conf names them. */
const LEGACY_DRIVER = "legacy_bm.LegacyBareMetalDriver";
const DRIVER_FILES = ["nova_compute.py", "legacy_bm.py"];

/** A cloud with tenants on machines of nova-baremetal, kept as it was when its nova-compute stopped. */
export interface Base {
  readonly stack: Stack;
  /**
   * Brings it back to that moment, for one rehearsal.
   *
   * @param folder where everything of the rehearsal is kept
   */
  readonly begin: (by: By, folder: string) => Promise<Deployment>;
  /** Ends everything. */
  readonly stop: () => Promise<void>;
}

/** What one rehearsal works on, what is known of it, and the tool beside it. */
export interface Deployment {
  readonly stack: Stack;
  readonly by: By;
  readonly observer: Observer;
  readonly product: Product;
  readonly fleet: Fleet;
  /** Glance's ids: what tenants boot, and what they rebuild to, a whole disk. */
  readonly image: string;
  readonly disk: string;
  /** Neutron's id of the network that servers are in. */
  readonly network: string;
  readonly files: Files;
  /** Starts the host's nova-compute by its nova.conf as it now is. */
  readonly startCompute: (driver: "legacy" | "ironic") => void;
  /** Why the nova-compute that was started last does not run any more; null while it does. */
  readonly computeEnded: () => string | null;
  /** How often the nova-compute that runs has begun to compare its servers' power with the machines'. */
  readonly powerSyncs: () => number;
  readonly stopCompute: () => Promise<void>;
  /** Reads the cloud, and keeps databases and the power of machines to come back to: Ironic sleeps then. */
  readonly save: (name: string, options: { readonly ironic: boolean }) => Promise<Restore>;
  /** Reads the cloud, and keeps it under this name. */
  readonly see: (name: string, options: { readonly ironic: boolean }) => Promise<Moment>;
  readonly acts: Act[];
  readonly listed: Listed[];
  readonly seen: () => ObservedState;
  readonly tell: (line: string) => void;
}

/** What an operator has at hand, each a file only he can read. */
export interface Files {
  readonly folder: string;
  readonly run: string;
  readonly site: string;
  readonly novaConf: string;
  readonly tftp: string;
  /** `file:PATH` of each database, whose user may do no more than is needed. */
  readonly at: {
    readonly [name in "novaBm" | "nova" | "novaApi" | "placement" | "ironic"]: string;
  };
}

const OLD_ERROR =
  "2026-01-01 00:00:00.000 1 ERROR oslo.messaging._drivers.impl_rabbit [-] Connection failed: [Errno 111] ECONNREFUSED\n";
/** The tenant whose machine boots through `ramdisk`: one who keeps his server, and asks for nothing. */
const RAMDISK = 2;
const WRITES = "SELECT, INSERT, UPDATE, DELETE";

/**
 * Brings up a cloud with machines of nova-baremetal and four tenants on them, all on one server of this engine.
 *
 * @param folder where logs of the time before any rehearsal are kept
 */
export async function deploy(
  folder: string,
  options: StackOptions,
  tell: (line: string) => void,
): Promise<Base> {
  const stack = await startStack(options, tell);
  try {
    return await populate(stack, folder, tell);
  } catch (cause) {
    await stack.stop();
    throw cause;
  }
}

async function populate(stack: Stack, folder: string, tell: (line: string) => void): Promise<Base> {
  const machines = await fillLegacy(stack);
  const { tenant: image, disk, ...images } = await registerImages(stack);
  const network = await registerNetwork(stack.asks);
  tell("nova_bm filled, images and network registered");
  const tftp = bootFolder();
  const observed = observer(stack, machines.order);
  const legacy = await writeFiles(stack, folder, tftp.path, images);
  const compute = computeOf(legacy, observed);
  compute.start("legacy");
  tell("nova-compute with the legacy driver started");
  await schedulable(stack, machines);
  tell("Placement has every machine");
  const served = await bootServers(stack, machines, { image, network });
  tell("tenants are on their machines");
  const fleet = fleetOf(machines, served, images);
  const before = await observed.moment({ ironic: false });
  await compute.stop();
  tell("nova-compute stopped");
  const restore = await save(stack, "base");
  const agents = await startAgents(
    stack.ironic.url,
    machinesOf(stack.sim, machines.order),
    waitingIn(stack.db(stack.ironic.database)),
  );
  const memory = watchMemory(dataOf(stack.server));
  const stop = async (): Promise<void> => {
    memory.stop();
    await agents.stop();
    await stack.stop();
    await tftp.stop();
  };
  const begin: Base["begin"] = async (by, own) => {
    await stack.ironic.sleep();
    await restore();
    // Not every ERROR of a conductor's log is about a takeover: this one is about its message queue.
    appendFileSync(stack.ironic.log, OLD_ERROR);
    observed.forget(before);
    const files = await writeFiles(stack, own, tftp.path, images, fleet.ramdisk);
    const compute = computeOf(files, observed);
    const { start: startCompute, stop: stopCompute, ended: computeEnded, powerSyncs } = compute;
    const [acts, listed]: [Act[], Listed[]] = [[], []];
    const ran = product(join(own, "commands"), stack.cloud.env, tell);
    const mine: Fleet = { ...fleet, host: by === "rename" ? NEW_HOST : HOST };
    const { moments, ...sees } = seer(stack, observed, before);
    return {
      ...{ stack, by, observer: observed, product: ran, fleet: mine, files, acts, listed },
      ...{ image, disk, network, ...sees, tell, startCompute, stopCompute, computeEnded },
      powerSyncs,
      seen: () => ({ moments, ran: ran.ran(), acts, listed, by, fleet: mine, held: memory.peak() }),
    };
  };
  return { stack, begin, stop };
}

/** Where a server's data is. */
function dataOf({ engine, socket }: Stack["server"]): string {
  return engine === "postgresql" ? socket : dirname(socket);
}

/** What looks at the cloud, and what it has seen. */
function seer(stack: Stack, observed: Observer, before: Moment) {
  const moments: { [name: string]: Moment } = { before };
  const see: Deployment["see"] = async (name, options) => {
    const moment = await observed.moment(options);
    moments[name] = moment;
    return moment;
  };
  const keep: Deployment["save"] = async (name, options) => {
    const moment = await see(name, options);
    const restore = await save(stack, name);
    return async () => {
      // What a conductor knows of nodes would be of another time.
      await stack.ironic.sleep();
      await restore();
      observed.forget(moment);
    };
  };
  return { moments, see, save: keep };
}

function fleetOf(
  { order, deleted, errored, held }: Machines,
  served: Served,
  images: Fleet["images"],
): Fleet {
  const used = [...served.tenants, ...served.ill, ...served.doubted];
  const others = new Set([...used, ...deleted, ...errored, ...held]);
  const free = order.filter((uuid) => !others.has(uuid));
  const ramdisk = served.tenants[RAMDISK];
  if (ramdisk === undefined) throw new Error(`fewer than ${RAMDISK + 1} tenants`);
  return { host: HOST, ...served, ramdisk, free, deleted, errored, held, images };
}

/** The host's tftp_root: nova-compute writes it as its own user. It goes with this process. */
function bootFolder(): { readonly path: string; readonly stop: () => Promise<void> } {
  const user = owner("nova");
  const folder = privateFolder("n2i-tftpboot-", user);
  const { stop } = startDaemon(["mkdir", "root"], ["sleep", "infinity"], {
    folder,
    signal: "TERM",
    owner: user,
  });
  return { path: join(folder, "root"), stop };
}

function computeOf(files: Files, observed: Observer) {
  let running: ReturnType<typeof startCompute> | null = null;
  let count = 0;
  const legacy = Object.fromEntries(
    DRIVER_FILES.map((name) => [
      name,
      readFileSync(join(packageRoot(), "grenade", "legacy", name), "utf8"),
    ]),
  );
  return {
    start: (driver: "legacy" | "ironic"): void => {
      count++;
      running = startCompute(
        readFileSync(files.novaConf, "utf8"),
        driver === "legacy" ? legacy : null,
      );
      observed.follow(`nova-compute ${count}`, running.log);
    },
    ended: () => (running === null || running.running() ? null : running.log()),
    powerSyncs: () =>
      running?.log().match(/Running periodic task \S+_sync_power_states/g)?.length ?? 0,
    stop: async (): Promise<void> => {
      await running?.stop(join(files.folder, `nova-compute-${count}.log`));
      running = null;
    },
  };
}

async function writeFiles(
  { server, nova, ironic, period, powerSync }: Stack,
  folder: string,
  tftp: string,
  images: Fleet["images"],
  ramdisk = "none yet",
): Promise<Files> {
  const own = (...path: readonly string[]) => join(folder, ...path);
  mkdirSync(own("urls"), { recursive: true, mode: 0o700 });
  const at = async (name: string, database: string, privileges: string): Promise<string> => {
    const { url } = await server.restrictedUser("tool", database, privileges);
    writeFileSync(own("urls", name), url, { mode: 0o600 });
    return `file:${own("urls", name)}`;
  };
  const legacy = await server.restrictedUser("novabm", LEGACY_DATABASE, WRITES);
  const conf = nova.computeConf(HOST, {
    DEFAULT: {
      compute_driver: LEGACY_DRIVER,
      reserved_host_memory_mb: 512,
      update_resources_interval: period,
      sync_power_state_interval: powerSync,
    },
    baremetal: {
      sql_connection: legacy.url,
      driver: "nova.virt.baremetal.pxe.PXE",
      power_manager: "nova.virt.baremetal.ipmi.IPMI",
      flavor_extra_specs: "cpu_arch:x86_64",
      tftp_root: tftp,
    },
  });
  writeFileSync(own("nova.conf"), `${conf}\n`, { mode: 0o600 });
  writeFileSync(own("site.json"), JSON.stringify(siteOf(images, ramdisk), null, 2));
  return {
    folder,
    ...{ run: own("run"), site: own("site.json"), novaConf: own("nova.conf") },
    tftp,
    at: {
      novaBm: await at("nova-bm", LEGACY_DATABASE, "SELECT"),
      nova: await at("nova", NOVA_DATABASES.cell, WRITES),
      novaApi: await at("nova-api", NOVA_DATABASES.api, WRITES),
      placement: await at("placement", PLACEMENT_DATABASE, "SELECT"),
      ironic: await at("ironic", ironic.database, WRITES),
    },
  };
}

/**
 * What an operator decides. One machine boots through `ramdisk`, the others have the default deploy interface: with
 * `ramdisk` Nova can neither rebuild a tenant nor deploy another.
 */
function siteOf({ new: [deploy_kernel, deploy_ramdisk] }: Fleet["images"], uuid: string): object {
  return {
    format: "nova2ironic/site@1",
    machines: [
      {
        match: {},
        set: {
          ...{ deploy_kernel, deploy_ramdisk, resource_class: RESOURCE_CLASS },
          // What the simulated BMCs speak.
          driver_info: { ipmi_cipher_suite: "3" },
        },
        accept: [{ finding: "N2I-D403", reason: "they have a bootloader on their disk by now" }],
      },
      { match: { uuid }, set: { deploy_interface: "ramdisk" } },
    ],
  };
}
