import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { type Json, type JsonObject, objectOf, parsedJson } from "../../src/lib/json.ts";
import { FAKE } from "../../src/model/ironic/fake-hardware.ts";
import { faultyService, type Says } from "../support/faulty-service.ts";
import { answerTo, type Kept, listIn, macOf, noRows, refuses, says, uuidOf } from "./in-memory.ts";

type Body = Record<string, Json>;

/** How it is not as it should be. */
interface Rules {
  /** Interface that stays as it is whatever is written. */
  keeps?: string;
  /** Uuid of a server of somebody else, to whom Nova gives the machine first. */
  rival?: string;
  /** Neutron binds no port any more. */
  unbound?: true;
  /** Nova keeps what was deleted for a while. */
  softly?: true;
  /** A machine is off in Ironic once it is deployed. */
  forgets?: true;
  /** Nodes that are part of it, of an Ironic that has such. */
  children?: readonly JsonObject[];
  /** Newest microversion of this Ironic, where it is another. */
  speaks?: string;
  /** Fields of the machine's node that it tells in that one alone. */
  newer?: JsonObject;
  /** Nova's availability zones besides its own default, each with whether it is available. */
  zones?: Readonly<Record<string, boolean>>;
}

/** Its node, the word by which it gets its server unless a scene has another, and another server. */
export const ID = uuidOf(1, 1);
export const OWN = uuidOf(7, 1);
export const RIVAL = uuidOf(9, 9);
const VIF = uuidOf(3, 1);
const IMAGE = uuidOf(5, 1);

const CONDUCTOR = { hostname: "c", conductor_group: "", alive: true, drivers: [FAKE, "ipmi"] };
const KINDS = [
  ...["bios", "boot", "console", "deploy", "inspect", "management", "network", "power", "raid"],
  ...["rescue", "storage", "vendor"],
];

const REAL: JsonObject = {
  ...{ driver: "ipmi", bios_interface: "no-bios", boot_interface: "ipxe" },
  ...{ console_interface: "no-console", deploy_interface: "direct" },
  ...{ inspect_interface: "no-inspect", management_interface: "ipmitool" },
  ...{ network_interface: "flat", power_interface: "ipmitool", raid_interface: "no-raid" },
  ...{ rescue_interface: "no-rescue", storage_interface: "noop", vendor_interface: "ipmitool" },
};

/**
 * One machine that runs, as Ironic 2023.1, Nova 26, Placement and Neutron 21 tell of it; without a login.
 *
 * @source facts/systems-measured.md C2+; nova 26 and ironic 21.4
 */
export async function novaInMemory(t: TestContext) {
  const node: Body = {
    ...{ uuid: ID, name: "n-1", provision_state: "active", power_state: "power on", ...REAL },
    ...{ instance_uuid: null, allocation_uuid: null, resource_class: "gold", maintenance: false },
    ...{ maintenance_reason: null, retired: false, last_error: null, reservation: null },
    ...{ automated_clean: null, target_power_state: null, protected: false, conductor_group: "" },
    ...{ protected_reason: null, lessee: null, console_enabled: false },
    ...{ properties: {}, driver_internal_info: {}, extra: { rack: 1 }, fault: null },
    instance_info: { image_source: IMAGE, root_gb: 10, capabilities: { boot_option: "local" } },
  };
  const port: Body = {
    ...{ id: VIF, mac_address: macOf(1), device_id: ID, device_owner: "baremetal:none" },
    ...{ "binding:host_id": ID, "binding:vif_type": "other", project_id: "p" },
    ...{ "binding:profile": { physical_network: "rack" }, dns_name: "db", revision_number: 1 },
  };
  const card = { uuid: uuidOf(2, 1), node_uuid: ID, address: macOf(1) };
  /** What would have reached the machine, or switched it, had it been there: at the end of a test, nothing. */
  const heard: string[] = [];
  t.after(() => assert.deepEqual(heard, []));
  /** The machine itself, whatever is said of it. */
  const machine: { power_state: "power on" | "power off" } = { power_state: "power on" };
  const servers = new Map<string, Body>();
  const held: LoadedRows = { ...noRows(), node, port, servers, heard, rules: {} };
  const { nodes, ports, network } = held;
  nodes.set(ID, node);
  network.set(VIF, port);
  ports.set(card.uuid, { ...card, extra: { vif_port_id: VIF } });
  const service = await faultyService(t, {
    ...{ here: true, most: 82 },
    answer: (call, sent, fields) => {
      const said = byVersion(held, call, fields) ?? ownAnswer(held, call, sent, fields["if-match"]);
      if (node.driver === FAKE) return said;
      // A conductor that looks now: it switches the machine to what its row says.
      if (node.maintenance !== true && node.power_state !== machine.power_state)
        heard.push(`power sync after ${call}`);
      // A nova-compute that looks now: what it knows as stopped, and sees on, it stops, in maintenance too.
      const own = servers.get(String(node.instance_uuid));
      if (own?.status === "SHUTOFF" && node.power_state === "power on")
        heard.push(`stopped by Nova after ${call}`);
      return said;
    },
  });
  /** What all of it is, for a comparison. */
  const dump = (): string =>
    JSON.stringify(
      [node, ...[servers, ports, network].map((rows) => [...rows.values()])],
      (key, value: unknown) => (key === "revision_number" ? 0 : value),
    );
  return { ...service, ...held, machine, dump };
}

export type NovaInMemory = Awaited<ReturnType<typeof novaInMemory>>;

interface LoadedRows extends Kept {
  readonly node: Body;
  readonly port: Body;
  readonly servers: Map<string, Body>;
  readonly rules: Rules;
  readonly heard: string[];
}

const ON_NODE = "OS-EXT-SRV-ATTR:hypervisor_hostname";
/** A server's node, where a login has no right to see it: Nova leaves it out. */
export const HIDDEN = "policy";

/** What another microversion is answered with; null: what any is. */
function byVersion(
  { node, rules, servers }: LoadedRows,
  call: string,
  fields: { readonly [name: string]: unknown },
): Says | null {
  const ofIronic = fields["x-openstack-ironic-api-version"];
  if (call === `GET /v1/nodes/${ID}` && ofIronic === (rules.speaks ?? ""))
    return says(200, { ...node, ...rules.newer });
  // Nova tells the actions of what it deleted too, from 2.21 on.
  const [, server] = /^GET .servers.([^/]+).os-instance-actions$/.exec(call) ?? [];
  const isServerGone = server !== undefined && !servers.has(server);
  return isServerGone && fields["x-openstack-nova-api-version"] !== "2.20"
    ? says(200, { instanceActions: [{ action: "create" }] })
    : null;
}

function shown(server: Readonly<Record<string, Json>>): Record<string, Json> {
  const { [ON_NODE]: on = null, ...others } = server;
  return on === HIDDEN ? others : { ...others, [ON_NODE]: on };
}

function ownAnswer(held: LoadedRows, call: string, sent: Json, match: string | undefined): Says {
  const [method = "", path = ""] = call.split(" ");
  const url = new URL(path, "http://cloud");
  const { node, heard } = held;
  const what = `${method} ${url.pathname}`;
  if (what === "GET /servers" || what === "GET /servers/detail") {
    const status = url.searchParams.get("status");
    const all = [...held.servers.values()].map(shown);
    return says(200, { servers: all.filter((one) => [null, one.status].includes(status)) });
  }
  if (what.includes("/servers")) return nova(held, what, sent);
  if (what.includes("/states/") && node.driver !== FAKE)
    heard.push(`${what} ${String(objectOf(sent).target)}`);
  const usual = () => answerTo(held, call, sent, match);
  switch (what) {
    case "GET /v1/": {
      const { speaks } = held.rules;
      const fields = speaks && { "X-OpenStack-Ironic-API-Maximum-Version": speaks };
      return { ...says(200, { id: "v1" }), ...(fields && { fields }) };
    }
    case "GET /v1/nodes":
      if (!url.searchParams.has("parent_node")) return usual();
      return says(200, { nodes: held.rules.children ?? [] });
    case "GET /v1/drivers":
      return says(200, { drivers: [{ name: FAKE, hosts: ["c"] }] });
    case "GET /v1/conductors":
      return says(200, { conductors: [CONDUCTOR] });
    case "GET /os-availability-zone": {
      const zones = Object.entries({ nova: true, ...held.rules.zones });
      const told = zones.map(([zoneName, available]) => ({ zoneName, zoneState: { available } }));
      return says(200, { availabilityZoneInfo: told });
    }
    case "GET /flavors/detail": {
      const all = [{ id: "silver" }, { id: "gold", name: "bm.gold" }, { id: "tin", name: "gold" }];
      return says(200, { flavors: url.searchParams.has("marker") ? [] : all });
    }
    case "GET /flavors/gold":
      return says(200, { flavor: { id: "gold", extra_specs: { "resources:CUSTOM_GOLD": "1" } } });
    case `GET /resource_providers/${ID}/inventories`: {
      const free = node.provision_state === "available" && node.maintenance !== true;
      return says(200, { inventories: { CUSTOM_GOLD: { total: 1, reserved: free ? 0 : 1 } } });
    }
    case `GET /resource_providers/${ID}/allocations`: {
      const instance = node.instance_uuid ?? null;
      return says(200, { allocations: instance === null ? {} : { [String(instance)]: {} } });
    }
    case `PATCH /v1/nodes/${ID}`:
      return patch(held, listIn(sent), usual);
    case `PUT /v1/nodes/${ID}/states/power`:
      node.power_state = objectOf(sent).target ?? null;
      return says(202, {});
    default:
      return what.startsWith("PUT /v2.0/ports/") ? bound(held, usual(), sent) : usual();
  }
}

function patch({ node, rules }: LoadedRows, operations: readonly JsonObject[], usual: () => Says) {
  const { keeps = "" } = rules;
  const kept = node[keeps];
  const touches = operations.some(({ path }) => /^\/driver$|_interface$/.test(String(path)));
  if (touches && node.provision_state === "active" && node.maintenance !== true)
    return refuses(409, "it is active, and not in maintenance");
  if (operations.some(({ path, value }) => path === "/driver" && value === FAKE))
    for (const kind of KINDS)
      node[`${kind}_interface`] = /network|storage/.test(kind) ? "flat" : "fake";
  const said = usual();
  if (kept !== undefined) node[keeps] = kept;
  return said;
}

/** Once it has a host it is bound, or not. */
function bound({ network, rules }: LoadedRows, said: Says, sent: Json): Says {
  const port = network.get(String(objectOf(objectOf(parsedJson(said.text)).port).id));
  if (port === undefined || objectOf(objectOf(sent).port)["binding:host_id"] === undefined)
    return said;
  port["binding:vif_type"] = rules.unbound === true ? "binding_failed" : "other";
  return says(200, { port });
}

function nova(held: LoadedRows, what: string, sent: Json): Says {
  const { node, port, network, servers, rules, heard } = held;
  const [, , id = "", action] = what.split(" ")[1]?.split("/") ?? [];
  const server = servers.get(id);
  if (what === "POST /servers") return boot(held, objectOf(objectOf(sent).server));
  if (server === undefined) return says(404, { itemNotFound: { message: "no such server" } });
  if (action === "os-interface") {
    const all = [...network.values()].filter(({ device_id }) => device_id === id);
    return says(200, { interfaceAttachments: all.map((one) => ({ port_id: one.id })) });
  }
  if (action === "os-instance-actions") {
    const isBusy = server["OS-EXT-STS:task_state"] !== null || server.status !== "ACTIVE";
    const all = ["create", ...(isBusy ? ["stop"] : [])].map((one) => ({ action: one }));
    return says(200, { instanceActions: all });
  }
  if (what.startsWith("GET")) return says(200, { server });
  if (node.driver !== FAKE) heard.push(what);
  if (action === "action" && !("forceDelete" in objectOf(sent))) {
    const on = "os-start" in objectOf(sent);
    server.status = on ? "ACTIVE" : "SHUTOFF";
    node.power_state = on ? "power on" : "power off";
    return says(202, {});
  }
  if (rules.softly === true && action === undefined) {
    server.status = "SOFT_DELETED";
    return { status: 204, text: "" };
  }
  servers.delete(id);
  for (const [made, { device_id }] of network)
    if (device_id === id && made !== VIF) network.delete(made);
  // What never came to a machine has none to leave.
  if (node.instance_uuid !== id) return { status: 204, text: "" };
  Object.assign(node, { provision_state: "available", instance_info: {}, instance_uuid: null });
  node.lessee = null;
  if (port.device_id === id)
    Object.assign(port, { device_id: "", device_owner: "", dns_name: "", ...UNBOUND });
  return { status: 204, text: "" };
}

function boot({ node, port, servers, rules }: LoadedRows, asked: JsonObject): Says {
  const free = node.provision_state === "available" && node.maintenance !== true;
  const wantsPort = asked.networks !== "none";
  if (!free || (wantsPort && port.device_id !== ""))
    return says(400, { badRequest: { message: "in use" } });
  const { availability_zone: zone = "", hypervisor_hostname: pinned } = asked;
  if (String(zone).includes(":") === (pinned !== undefined))
    return says(400, { badRequest: { message: "a machine is named once" } });
  const [, , named = ""] = String(zone).split(":");
  if (named !== named.toLowerCase())
    return says(400, { badRequest: { message: "No nodes matched" } }); // a real Nova: an ERROR
  const id = uuidOf(8, servers.size + 1);
  servers.set(id, {
    ...{ id, name: asked.name ?? "", metadata: asked.metadata ?? {}, status: "ACTIVE" },
    "OS-EXT-STS:task_state": null,
    "OS-EXT-SRV-ATTR:hypervisor_hostname": rules.rival === undefined ? ID : null,
  });
  if (rules.rival !== undefined) {
    Object.assign(servers.get(id) ?? {}, { status: "ERROR", fault: { message: "No valid host" } });
    Object.assign(node, { provision_state: "active", instance_uuid: rules.rival });
    return says(202, { server: { id } });
  }
  const hostname = String(asked.name).toLowerCase().replaceAll(" ", "-");
  if (wantsPort && !["", hostname].includes(String(port.dns_name))) {
    const message = `value ${String(port.dns_name)} assigned to dns_name attribute does not match instance's hostname`;
    Object.assign(servers.get(id) ?? {}, { status: "ERROR", [ON_NODE]: null, fault: { message } });
    return says(202, { server: { id } });
  }
  Object.assign(node, { provision_state: "active", instance_uuid: id });
  if (rules.forgets === true) node.power_state = "power off";
  node.instance_info = { display_name: asked.name ?? "", image_source: asked.imageRef ?? null };
  if (wantsPort)
    Object.assign(
      port,
      { device_id: id, device_owner: "compute:nova", dns_name: hostname },
      UNBOUND,
    );
  return says(202, { server: { id } });
}

/** @source nova 26: network/neutron.py, _unbind_ports, _update_port_dns_name */
const UNBOUND = { "binding:host_id": "", "binding:profile": {}, "binding:vif_type": "unbound" };
