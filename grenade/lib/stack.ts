import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import type { Knex } from "knex";
import { packageRoot } from "../../src/run/files/package-root.ts";
import { SERVERS, type ServerEngine } from "../../test/lab/binaries.ts";
import { type IpmiSim, startIpmiSim } from "../../test/lab/bmc/sims.ts";
import { needsTools } from "../../test/lab/bmc/tools.ts";
import { type Broker, startBroker } from "../../test/lab/cloud/broker.ts";
import { type Mechanism, type Neutron, startNeutron } from "../../test/lab/cloud/neutron.ts";
import { type Nova, type NovaClocks, startNova } from "../../test/lab/cloud/nova.ts";
import { startPlacement } from "../../test/lab/cloud/placement.ts";
import { makeSeed, seedOf } from "../../test/lab/cloud/seed.ts";
import { type Cloud, choose, startCloud } from "../../test/lab/cloud/start.ts";
import { connect } from "../../test/lab/connect.ts";
import { freePort } from "../../test/lab/daemon.ts";
import type { IronicOptions } from "../../test/lab/ironic/config.ts";
import { type IronicServer, startIronic } from "../../test/lab/ironic/start.ts";
import { newPassword } from "../../test/lab/server.ts";
import { type Restartable, startMariadb, startPostgres } from "../../test/lab/start.ts";
import { type Asks, asks } from "./api.ts";
import { startImages } from "./images.ts";
import { NETWORK } from "./network.ts";

/** Schemas that services made, by their versions: outlives a build, and `npm ci`. */
const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "nova2ironic-grenade");
const KEPT = { mysql: join(CACHE, "mariadb"), postgresql: join(CACHE, "postgresql") };

/** Everything a rehearsal runs on. All of it dies with this process. */
export interface Stack {
  readonly server: Restartable;
  readonly cloud: Cloud;
  readonly nova: Nova;
  readonly neutron: Neutron;
  /** URL of Placement. */
  readonly placement: string;
  /** Its schema is made, and it sleeps until it is woken for the first time. */
  readonly ironic: IronicServer;
  /** One that runs, on a database of its own, with its operator's web server at this address. */
  readonly anotherIronic: (http: string) => Promise<IronicServer>;
  readonly sim: IpmiSim;
  /** The password of each BMC, in the simulator's order. */
  readonly secrets: readonly string[];
  readonly asks: Asks;
  readonly broker: Broker;
  readonly period: number;
  readonly powerSync: number;
  /** A connection of our own. */
  readonly db: (database: string) => Knex;
  readonly stop: () => Promise<void>;
}

/** What is asked of a stack. */
export interface StackOptions {
  readonly machines: number;
  /** Of the one server that holds every database. */
  readonly engine: ServerEngine;
  /** Seconds between two looks of a service at all machines. */
  readonly period: number;
  /** Seconds between two times that nova-compute compares servers' power with machines': 5 unless given. */
  readonly powerSync?: number;
  /** How often Nova's services look at each other. */
  readonly nova?: NovaClocks;
  /** Processes of Neutron that answer: one unless given. */
  readonly workers?: number;
  /** Whether Neutron's ports have a `dns_name`. */
  readonly dns?: boolean;
  /** Whether RabbitMQ serves its management API. */
  readonly managed?: boolean;
}

/**
 * Starts databases, message broker, Keystone, Glance, Placement, Neutron, Nova, a sleeping Ironic and so
 * many simulated BMCs, all off: real services, on loopback, each as a user of its own.
 *
 * @param tell where it says how far it is
 */
export async function startStack(
  options: StackOptions,
  tell: (line: string) => void,
): Promise<Stack> {
  mkdirSync(KEPT[options.engine], { recursive: true });
  const ends: (() => Promise<void> | void)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  /** Starts one thing, which ends in its turn. */
  const started = async <T extends { readonly stop: () => Promise<void> | void }>(
    name: string,
    starting: Promise<T>,
  ): Promise<T> => {
    const began = Date.now();
    const one = await starting;
    ends.push(one.stop);
    tell(`${name} after ${((Date.now() - began) / 1000).toFixed(1)} s`);
    return one;
  };
  try {
    const parts = await startParts(options, started);
    const connections = new Map<string, Knex>();
    ends.push(async () => {
      for (const one of connections.values()) await one.destroy();
    });
    const db = (database: string): Knex => {
      const one = connections.get(database) ?? connect({ ...parts.server, database });
      connections.set(database, one);
      return one;
    };
    return { ...parts, db, stop };
  } catch (cause) {
    await stop();
    throw cause;
  }
}

/** Keeps the schemas that services made, for the next run; false when they are kept. */
export const keepSchemas = (engine: ServerEngine): Promise<boolean> =>
  makeSeed(KEPT[engine], engine);

type Started = <T extends { readonly stop: () => Promise<void> | void }>(
  name: string,
  starting: Promise<T>,
) => Promise<T>;

async function startParts(
  {
    machines,
    engine,
    period,
    powerSync = 5,
    nova: novaClocks = {},
    workers,
    dns = false,
    managed = false,
  }: StackOptions,
  started: Started,
): Promise<Omit<Stack, "db" | "stop">> {
  const kept = KEPT[engine];
  const secrets = Array.from({ length: machines }, () => newPassword().slice(0, 16));
  const { ipmi_sim } = needsTools("ipmi_sim", "ipmitool");
  const sim = await started(
    `${machines} BMCs`,
    startIpmiSim(
      ipmi_sim,
      secrets.map((password) => ({ power: false, password })),
      { firstApart: true },
    ),
  );
  const seed = seedOf(kept, engine);
  const start = engine === "postgresql" ? startPostgres : startMariadb;
  const server = await started(
    SERVERS[engine].title,
    start("in memory", existsSync(seed) ? seed : undefined),
  );
  const images = await started("Ironic's web server", startImages());
  const chosen = await choose();
  const ports = {
    placement: await freePort(),
    neutron: await freePort(),
    ironic: await freePort(),
  };
  const urls = {
    neutron: `http://127.0.0.1:${ports.neutron}`,
    placement: `http://127.0.0.1:${ports.placement}`,
    ironic: `http://127.0.0.1:${ports.ironic}`,
  };
  const lower = ["keystone", "glance"] as const;
  const options = { services: lower, chosen, kept };
  const below = started("Keystone and Glance", startCloud(server, options));
  const message = started("RabbitMQ", startBroker({ managed }));
  const place = { server, cloud: chosen, kept };
  const more = { http: images.url, neutron: urls.neutron, period };
  const [cloud, broker, , neutron, ironic, nova] = await together([
    below,
    message,
    started("Placement", startPlacement(server, chosen, kept, ports.placement)),
    started(
      "Neutron",
      startNeutron({
        ...{ ...place, mechanism: MECHANISM, port: ports.neutron, dns },
        ...(workers !== undefined && { workers }),
      }),
    ),
    below.then((one) => {
      const own = { ...ironicOptions(one, more), port: ports.ironic, kept };
      return started("Ironic's schema", startIronic(server, own));
    }),
    // A scheduler that finds no Keystone at its start maps no host later.
    Promise.all([message, below]).then(([{ url: broker }]) =>
      started("Nova", startNova({ ...place, broker, urls, ...novaClocks })),
    ),
  ]);
  images.serve(join(dirname(ironic.log), "http"));
  const anotherIronic = (http: string): Promise<IronicServer> => {
    const options = ironicOptions(cloud, { ...more, http });
    return startIronic(server, { ...options, asleep: false });
  };
  const asked = asks(cloud, urls);
  const services = { cloud, broker, nova, neutron, ironic, anotherIronic };
  const clocks = { period, powerSync };
  return { server, ...services, placement: urls.placement, sim, secrets, asks: asked, ...clocks };
}

/** When one fails the others are waited for all the same, so that they can be ended. */
async function together<T extends readonly unknown[]>(
  starting: readonly [...{ [at in keyof T]: Promise<T[at]> }],
): Promise<T> {
  for (const one of await Promise.allSettled(starting))
    if (one.status === "rejected") throw one.reason;
  // Each is there by now.
  return (await Promise.all(starting)) as unknown as T;
}

/** What binds ports where no agent does. */
const MECHANISM: Mechanism = {
  module: "machine_ports",
  class: "MachinePorts",
  text: readFileSync(join(packageRoot(), "grenade", "legacy", "machine_ports.py"), "utf8"),
};

/**
 * An Ironic whose operator cleans nothing between tenants, and has one flat network for all: the rest,
 * above all force_power_state_during_sync, is as Ironic ships it.
 */
function ironicOptions(
  { token, authtoken, ports }: Cloud,
  {
    http: http_url,
    neutron,
    period,
  }: { readonly http: string; readonly neutron: string; readonly period: number },
): IronicOptions {
  const glance = { ...authtoken, endpoint_override: `http://127.0.0.1:${ports.glance}` };
  return {
    auth: "keystone",
    token,
    asleep: true,
    more: {
      DEFAULT: { enabled_network_interfaces: "flat,noop", default_network_interface: "flat" },
      keystone_authtoken: authtoken,
      glance,
      neutron: { ...authtoken, endpoint_override: neutron, cleaning_network: NETWORK },
      dhcp: { dhcp_provider: "neutron" },
      deploy: { http_url },
      agent: { post_deploy_get_power_state_retry_interval: 1 },
      conductor: {
        automated_clean: false,
        sync_power_state_interval: period,
        power_failure_recovery_interval: 10,
      },
    },
  };
}
