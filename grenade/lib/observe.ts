import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Process } from "../../test/lab/cloud/nova.ts";
import { NOVA_DATABASES } from "../../test/lab/cloud/nova.ts";
import type { Moment, Node, Port, Provider, Server } from "./seen.ts";
import type { Stack } from "./stack.ts";

/** Later versions want cpu_info to be JSON, which nova-baremetal never wrote, and then each machine's uptime. */
const HYPERVISORS = { "OpenStack-API-Version": "compute 2.27" };

/** Nova says it of each server that Ironic deploys, once it has bound the port as one of a machine. */
const NATIVE =
  /The vnic_type of the bound port \S+ has been changed in neutron from "normal" to "baremetal"/;

/** Reads the cloud at one moment. What logs said is told once. */
export interface Observer {
  readonly moment: (options: { readonly ironic: boolean }) => Promise<Moment>;
  /** A log to read errors of, from its end on. */
  readonly follow: (name: string, log: Process["log"]) => void;
  /** Writes each log that is followed, whole, into this folder. */
  readonly keepLogs: (folder: string) => void;
  /** Takes what logs said and BMCs were told since this moment for never said. */
  readonly forget: (since: Moment) => void;
  /** Whether this machine's BMC has it on. */
  readonly power: (node: string) => boolean;
  /** Presses a machine's button: no BMC is told. */
  readonly press: (node: string, on: boolean) => void;
}

/** @param order bm_nodes.uuid of each BMC, in the simulator's order */
export function observer(stack: Stack, order: readonly string[]): Observer {
  const logs = new Map<string, { readonly log: () => string; read: number }>();
  const follow = (name: string, log: () => string): void => {
    logs.set(name, { log, read: 0 });
  };
  for (const [name, { log }] of Object.entries(stack.nova.processes)) follow(name, log);
  follow("ironic", () => readFileSync(stack.ironic.log, "utf8"));
  follow("neutron", () => readFileSync(stack.neutron.log, "utf8"));
  const errors = (): readonly string[] =>
    [...logs].flatMap(([name, one]) => {
      const text = one.log();
      const unread = text.slice(one.read);
      one.read = text.length;
      return unread
        .split("\n")
        .filter((line) => / (ERROR|CRITICAL) /.test(line) && !NATIVE.test(line))
        .map((line) => `${name}: ${line.slice(0, 300)}`);
    });
  const told = (): readonly string[] => stack.sim.commands().filter((line) => line !== "");
  const bound = (): readonly string[] =>
    readFileSync(stack.neutron.log, "utf8")
      .split("\n")
      .flatMap((line) => /binding of (\S+: from \S+ to [\w.-]+)/.exec(line)?.[1] ?? []);
  // Commands and bindings of rehearsals that are over: those from one position to another.
  let over: readonly [from: number, to: number] = [0, 0];
  let rebound = over;
  const bmcs = () => ({
    power: Object.fromEntries(order.map((uuid, at) => [uuid, stack.sim.power(at)])),
    commands: told()
      .toSpliced(over[0], over[1] - over[0])
      .map((line) => line.replace(/^\d+/, (at) => order[Number(at)] ?? at)),
  });
  return {
    follow,
    keepLogs: (folder) => {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      for (const [name, { log }] of logs)
        writeFileSync(join(folder, `${name.replaceAll(" ", "-")}.log`), log(), { mode: 0o600 });
    },
    forget: ({ commands, bindings }) => {
      over = [commands.length, told().length];
      rebound = [bindings.length, bound().length];
      errors();
    },
    power: (node) => stack.sim.power(order.indexOf(node)),
    press: (node, on) => stack.sim.setPower(order.indexOf(node), on),
    moment: async ({ ironic }) => ({
      servers: await servers(stack),
      hypervisors: await hypervisors(stack),
      computeNodes: await computeNodes(stack),
      providers: await providers(stack),
      nodes: ironic ? await nodes(stack) : {},
      loaded: (await stack.db(stack.ironic.database)("nodes")).length,
      flavor: await flavor(stack),
      ports: await ports(stack),
      bindings: bound().toSpliced(rebound[0], rebound[1] - rebound[0]),
      ...bmcs(),
      errors: errors(),
    }),
  };
}

async function servers({ asks }: Stack): Promise<readonly Server[]> {
  const all = await asks<{ readonly servers: readonly { readonly [field: string]: unknown }[] }>(
    "nova",
    "GET",
    "/servers/detail?all_tenants=1",
  );
  const text = (value: unknown) => (typeof value === "string" ? value : null);
  return (all?.servers ?? [])
    .map((one) => ({
      id: String(one.id),
      name: String(one.name),
      status: String(one.status),
      task: text(one["OS-EXT-STS:task_state"]),
      power: Number(one["OS-EXT-STS:power_state"]),
      host: String(one["OS-EXT-SRV-ATTR:host"]),
      node: String(one["OS-EXT-SRV-ATTR:hypervisor_hostname"]),
      launched: text(one["OS-SRV-USG:launched_at"]),
    }))
    .toSorted((one, other) => one.name.localeCompare(other.name));
}

async function hypervisors({ asks }: Stack): Promise<Moment["hypervisors"]> {
  const all = await asks<{
    readonly hypervisors: readonly {
      readonly hypervisor_hostname: string;
      readonly hypervisor_type: string;
      readonly state: string;
    }[];
  }>("nova", "GET", "/os-hypervisors/detail", undefined, HYPERVISORS);
  return Object.fromEntries(
    (all?.hypervisors ?? []).map((one) => [
      one.hypervisor_hostname,
      { type: one.hypervisor_type, state: one.state },
    ]),
  );
}

async function computeNodes({ db }: Stack): Promise<Moment["computeNodes"]> {
  const rows: readonly { id: number; uuid: string; hypervisor_hostname: string }[] = await db(
    NOVA_DATABASES.cell,
  )("compute_nodes").where({ deleted: 0 });
  return Object.fromEntries(
    rows.map(({ id, uuid, hypervisor_hostname }) => [hypervisor_hostname, { id, uuid }]),
  );
}

async function providers({ asks }: Stack): Promise<Moment["providers"]> {
  const all = await asks<{
    readonly resource_providers: readonly { readonly uuid: string; readonly name: string }[];
  }>("placement", "GET", "/resource_providers");
  const made: { [uuid: string]: Provider } = {};
  for (const { uuid, name } of all?.resource_providers ?? []) {
    const at = `/resource_providers/${uuid}`;
    const inventory = await asks<{ readonly inventories: Provider["inventory"] }>(
      ...(["placement", "GET", `${at}/inventories`] as const),
    );
    const allocated = await asks<{
      readonly allocations: {
        readonly [consumer: string]: { readonly resources: { readonly [name: string]: number } };
      };
    }>("placement", "GET", `${at}/allocations`);
    made[uuid] = {
      name,
      inventory: Object.fromEntries(
        Object.entries(inventory?.inventories ?? {}).map(([resource, { total, reserved }]) => [
          resource,
          { total, reserved },
        ]),
      ),
      allocations: Object.fromEntries(
        Object.entries(allocated?.allocations ?? {}).map(([id, { resources }]) => [id, resources]),
      ),
    };
  }
  return made;
}

async function nodes({ asks }: Stack): Promise<Moment["nodes"]> {
  const all = await asks<{ readonly nodes: readonly (Node & { readonly uuid: string })[] }>(
    "ironic",
    "GET",
    "/nodes/detail",
  );
  return Object.fromEntries(
    (all?.nodes ?? []).map((one) => [
      one.uuid,
      {
        provision_state: one.provision_state,
        power_state: one.power_state,
        instance_uuid: one.instance_uuid,
        maintenance: one.maintenance,
        maintenance_reason: one.maintenance_reason,
        protected: one.protected,
        deploy_interface: one.deploy_interface,
        last_error: one.last_error,
      },
    ]),
  );
}

async function ports({ asks }: Stack): Promise<Moment["ports"]> {
  const all = await asks<{ readonly ports: readonly (NeutronPort & { readonly id: string })[] }>(
    "neutron",
    "GET",
    "/ports",
  );
  return Object.fromEntries((all?.ports ?? []).map((one) => [one.id, portOf(one)]));
}

interface NeutronPort {
  readonly mac_address: string;
  readonly fixed_ips: readonly { readonly ip_address: string }[];
  readonly device_id: string;
  readonly device_owner: string;
  readonly status: string;
  readonly "binding:host_id": string;
  readonly "binding:vif_type": string;
  readonly "binding:vnic_type": string;
  readonly extra_dhcp_opts?: readonly { readonly opt_name: string; readonly opt_value: string }[];
}

function portOf(one: NeutronPort): Port {
  return {
    mac: one.mac_address,
    ips: one.fixed_ips.map(({ ip_address }) => ip_address),
    ...{ device: one.device_id, owner: one.device_owner, status: one.status },
    host: one["binding:host_id"],
    vif: one["binding:vif_type"],
    vnic: one["binding:vnic_type"],
    options: (one.extra_dhcp_opts ?? [])
      .map(({ opt_name, opt_value }) => `${opt_name}=${opt_value}`)
      .toSorted(),
  };
}

async function flavor({ asks }: Stack): Promise<Moment["flavor"]> {
  const made = await asks<{ readonly extra_specs: Moment["flavor"] }>(
    "nova",
    "GET",
    "/flavors/bm/os-extra_specs",
  );
  return made?.extra_specs ?? {};
}
