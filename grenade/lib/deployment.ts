import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../src/edge/disk/package-root.ts";
import { NOVA_DATABASES, type Process, startCompute } from "../../test/lab/cloud/nova.ts";
import { PLACEMENT_DATABASE } from "../../test/lab/cloud/placement.ts";
import { owner, privateFolder } from "../../test/lab/folder.ts";
import { machinesOf, startAgents } from "./agent.ts";
import {
  bootServers,
  fillLegacy,
  HOST,
  LEGACY_DATABASE,
  NEW_HOST,
  RESOURCE_CLASS,
  registerImages,
  schedulable,
} from "./base.ts";
import { type Observer, observer } from "./observe.ts";
import { type Product, product } from "./product.ts";
import type { Act, By, Fleet, Moment, Seen } from "./seen.ts";
import { type Stack, startStack } from "./stack.ts";

/** nova.virt.baremetal's and Ironic's, as a nova.conf names them. */
const LEGACY_DRIVER = "legacy_bm.LegacyBareMetalDriver";
const DRIVER_FILES = ["nova_compute.py", "legacy_bm.py"];

/** A deployment with tenants, what is known of it, and the tool beside it. */
export interface Deployment {
  readonly stack: Stack;
  readonly by: By;
  readonly observer: Observer;
  readonly product: Product;
  readonly fleet: Fleet;
  /** Glance's ids: what tenants boot, and what they rebuild to, a whole disk. */
  readonly image: string;
  readonly disk: string;
  readonly files: Files;
  /** Starts the host's nova-compute by its nova.conf as it now is. */
  readonly startCompute: (driver: "legacy" | "ironic") => void;
  readonly stopCompute: () => Promise<void>;
  /** Ends everything. */
  readonly stop: () => Promise<void>;
  /** Reads the cloud, and keeps it under this name. */
  readonly see: (name: string, options: { readonly ironic: boolean }) => Promise<Moment>;
  readonly acts: Act[];
  readonly seen: () => Seen;
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

const WRITES = "SELECT, INSERT, UPDATE, DELETE";

/**
 * Brings up a cloud with machines of nova-baremetal and four tenants on them.
 *
 * @param folder where everything of this rehearsal is kept
 */
export async function deploy(
  folder: string,
  by: By,
  machines: number,
  tell: (line: string) => void,
): Promise<Deployment> {
  const stack = await startStack(machines, tell);
  try {
    return await populate(stack, folder, by, tell);
  } catch (cause) {
    await stack.stop();
    throw cause;
  }
}

async function populate(
  stack: Stack,
  folder: string,
  by: By,
  tell: (line: string) => void,
): Promise<Deployment> {
  const machines = await fillLegacy(stack);
  const { tenant: image, disk, ...images } = await registerImages(stack);
  const files = await writeFiles(stack, folder, images);
  const observed = observer(stack, machines.order);
  const compute = computeOf(files, observed);
  compute.start("legacy");
  tell("nova-compute with the legacy driver started");
  await schedulable(stack, machines.order.length - machines.deleted.length);
  await bootServers(stack, image);
  const tenants: readonly { uuid: string }[] = await stack
    .db(LEGACY_DATABASE)("bm_nodes")
    .whereNotNull("instance_uuid");
  const used = tenants.map(({ uuid }) => uuid);
  const { deleted, errored, held } = machines;
  const others = new Set([...used, ...deleted, ...errored, ...held]);
  const free = machines.order.filter((uuid) => !others.has(uuid));
  const host = by === "rename" ? NEW_HOST : HOST;
  const fleet: Fleet = { host, tenants: used, free, deleted, errored, held, images };
  const nodes = stack.db(stack.ironic.database);
  const agents = await startAgents(
    stack.ironic.url,
    machinesOf(stack.sim, machines.order),
    async (states) => {
      const rows: readonly { uuid: string }[] = await nodes("nodes").whereIn(
        "provision_state",
        states,
      );
      return rows.map(({ uuid }) => uuid);
    },
  );
  const moments: { [name: string]: Moment } = {};
  const acts: Act[] = [];
  const ran = product(join(folder, "commands"), stack.cloud.env, tell);
  const deployment: Deployment = {
    ...{ stack, by, observer: observed, product: ran, fleet, image, disk, files, acts, tell },
    startCompute: compute.start,
    stopCompute: compute.stop,
    stop: async () => {
      await compute.stop();
      await agents.stop();
      await stack.stop();
    },
    see: async (name, options) => {
      const moment = await observed.moment(options);
      moments[name] = moment;
      return moment;
    },
    seen: () => ({ moments, ran: ran.ran(), acts, fleet }),
  };
  return deployment;
}

function computeOf(files: Files, observed: Observer) {
  let running: Process | null = null;
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
    stop: async (): Promise<void> => {
      await running?.stop(join(files.folder, `nova-compute-${count}.log`));
      running = null;
    },
  };
}

async function writeFiles(
  { server, nova, ironic }: Stack,
  folder: string,
  images: Fleet["images"],
): Promise<Files> {
  const own = (...path: readonly string[]) => join(folder, ...path);
  // nova-compute writes boot files as its own user.
  const tftp = privateFolder("n2i-tftpboot-", owner("nova"));
  process.once("exit", () => rmSync(tftp, { recursive: true, force: true }));
  mkdirSync(own("urls"), { recursive: true, mode: 0o700 });
  const at = async (name: string, database: string, privileges: string): Promise<string> => {
    const { url } = await server.restrictedUser("tool", database, privileges);
    writeFileSync(own("urls", name), url, { mode: 0o600 });
    return `file:${own("urls", name)}`;
  };
  const legacy = await server.restrictedUser("novabm", LEGACY_DATABASE, WRITES);
  const conf = nova.computeConf(HOST, {
    DEFAULT: { compute_driver: LEGACY_DRIVER, reserved_host_memory_mb: 512 },
    baremetal: {
      sql_connection: legacy.url,
      driver: "nova.virt.baremetal.pxe.PXE",
      power_manager: "nova.virt.baremetal.ipmi.IPMI",
      flavor_extra_specs: "cpu_arch:x86_64",
      tftp_root: tftp,
    },
  });
  writeFileSync(own("nova.conf"), `${conf}\n`, { mode: 0o600 });
  writeFileSync(own("site.json"), JSON.stringify(siteOf(images), null, 2));
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
 * What an operator decides. Machines get the default deploy interface: through `ramdisk` Ironic
 * boots a tenant that is there, but Nova can neither rebuild him nor deploy another.
 */
function siteOf({ new: [deploy_kernel, deploy_ramdisk] }: Fleet["images"]): object {
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
    ],
  };
}
