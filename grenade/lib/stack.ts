import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Knex } from "knex";
import { type IpmiSim, startIpmiSim } from "../../test/lab/bmc/sims.ts";
import { tool } from "../../test/lab/bmc/tools.ts";
import { startBroker } from "../../test/lab/cloud/broker.ts";
import { type Nova, startNova } from "../../test/lab/cloud/nova.ts";
import { type Placement, startPlacement } from "../../test/lab/cloud/placement.ts";
import { type Cloud, startCloud } from "../../test/lab/cloud/start.ts";
import { connect } from "../../test/lab/connect.ts";
import { type IronicServer, startIronic } from "../../test/lab/ironic/start.ts";
import { type Mariadb, startMariadb } from "../../test/lab/mariadb.ts";
import { newPassword } from "../../test/lab/server.ts";
import { type Asks, asks } from "./api.ts";
import { startImages } from "./images.ts";
import { startNetwork } from "./network.ts";

/** Schemas that services made, by their versions: outlives a build. */
const KEPT = join(import.meta.dirname, "..", "..", "..", "node_modules", ".cache", "grenade");

/** Everything a rehearsal runs on. All of it dies with this process. */
export interface Stack {
  readonly server: Mariadb;
  readonly cloud: Cloud;
  readonly nova: Nova;
  /** Its schema is made, and it sleeps until it is woken for the first time. */
  readonly ironic: IronicServer;
  readonly sim: IpmiSim;
  /** The password of each BMC, in the simulator's order. */
  readonly secrets: readonly string[];
  readonly asks: Asks;
  /** A connection of our own. */
  readonly db: (database: string) => Knex;
  readonly stop: () => Promise<void>;
}

/**
 * Starts databases, message broker, Keystone, Glance, Placement, Nova, a sleeping Ironic and so many
 * simulated BMCs, all off: real services but for Neutron, on loopback, each as a user of its own.
 *
 * @param tell where it says how far it is
 */
export async function startStack(machines: number, tell: (line: string) => void): Promise<Stack> {
  mkdirSync(KEPT, { recursive: true });
  const ends: (() => Promise<void> | void)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of ends.splice(0).reverse()) await end();
  };
  /** Starts one thing, which ends in its turn. */
  const started = async <T extends { readonly stop: () => Promise<void> | void }>(
    name: string,
    starting: Promise<T | null>,
  ): Promise<T> => {
    const began = Date.now();
    const one = await starting;
    if (one === null) throw new Error(`${name} is not installed and cannot be`);
    ends.push(one.stop);
    tell(`${name} after ${((Date.now() - began) / 1000).toFixed(1)} s`);
    return one;
  };
  try {
    const parts = await startParts(machines, started);
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

type Started = <T extends { readonly stop: () => Promise<void> | void }>(
  name: string,
  starting: Promise<T | null>,
) => Promise<T>;

async function startParts(machines: number, started: Started): Promise<Omit<Stack, "db" | "stop">> {
  const secrets = Array.from({ length: machines }, () => newPassword().slice(0, 16));
  const program = tool("ipmi_sim");
  if (program === null || tool("ipmitool") === null) throw new Error("ipmi_sim is not installed");
  const sim = await started(
    `${machines} BMCs`,
    startIpmiSim(
      program,
      secrets.map((password) => ({ power: false, password })),
    ),
  );
  const server = await started("MariaDB", startMariadb("in memory"));
  const [broker, cloud] = await both(
    started("RabbitMQ", startBroker()),
    started("Keystone and Glance", startCloud(server, ["keystone", "glance"], true)),
  );
  const network = await started("Neutron's stand-in", startNetwork());
  const images = await started("Ironic's web server", startImages());
  const [placement, ironic] = await both(
    started<Placement>("Placement", startPlacement(server, cloud, KEPT)),
    started("Ironic's schema", startIronic(server, ironicOptions(cloud, images.url))),
  );
  images.serve(join(dirname(ironic.log), "http"));
  const urls = { placement: placement.url, neutron: network.url, ironic: ironic.url };
  const place = { server, cloud, broker: broker.url, urls, kept: KEPT };
  const nova = await started("Nova", startNova(place));
  let awake: Promise<void> | null = null;
  const wake = (): Promise<void> => {
    awake ??= ironic.wake();
    return awake;
  };
  return {
    server,
    cloud,
    nova,
    ironic: { ...ironic, wake },
    sim,
    secrets,
    asks: asks(cloud, urls),
  };
}

/** When one fails the other is waited for all the same, so that it can be ended. */
async function both<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  const [first, second] = await Promise.allSettled([one, other]);
  if (first.status === "rejected") throw first.reason;
  if (second.status === "rejected") throw second.reason;
  return [first.value, second.value];
}

/**
 * An Ironic whose operator cleans nothing between tenants: the rest, above all
 * force_power_state_during_sync, is as Ironic ships it.
 */
function ironicOptions(
  { token, authtoken, ports }: Cloud,
  http_url: string,
): Parameters<typeof startIronic>[1] {
  const glance = { ...authtoken, endpoint_override: `http://127.0.0.1:${ports.glance}` };
  return {
    auth: "keystone",
    token,
    asleep: true,
    more: {
      keystone_authtoken: authtoken,
      glance,
      deploy: { http_url },
      conductor: { automated_clean: false, sync_power_state_interval: 10 },
    },
  };
}
