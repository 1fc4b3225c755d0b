import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { type Json, type JsonObject, objectOf } from "../../src/lib/json.ts";
import { FAKE } from "../../src/model/ironic/fake-hardware.ts";
import { type FaultyService, faultyService, type Says } from "../support/faulty-service.ts";
import { macOf, says, uuidOf } from "./in-memory.ts";

type Body = Record<string, Json>;

/** One machine that runs, as Ironic 2023.1, Nova 26, Placement and Neutron 21 tell of it; without a login. */
export interface NovaInMemory extends FaultyService {
  readonly node: Body;
  readonly port: Body;
  /** Others of Neutron, that Nova made, by id. */
  readonly others: Map<string, Body>;
  readonly cards: Body[];
  readonly servers: Map<string, Body>;
  readonly rules: Rules;
  /** The machine itself, whatever is said of it. */
  readonly machine: { power_state: "power on" | "power off" };
  /** What would have reached the machine, or switched it, had it been there: at the end of a test, nothing. */
  readonly heard: string[];
  /** What all of it is, for a comparison. */
  readonly dump: () => string;
}

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
  /** Disks of a storage network that belong to it. */
  volumes?: readonly JsonObject[];
  /** Nodes that are part of it, of an Ironic that has such. */
  children?: readonly JsonObject[];
  /** Newest microversion of this Ironic, where it is another. */
  speaks?: string;
  /** Fields of the machine's node that it tells in that one alone. */
  newer?: JsonObject;
  /** Nova's availability zones besides its own default, each with whether it is available. */
  zones?: Readonly<Record<string, boolean>>;
}

const NODE = uuidOf(1, 1);
const VIF = uuidOf(3, 1);
const IMAGE = uuidOf(5, 1);

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

/** @source facts/systems-measured.md C2+; nova 26 and ironic 21.4 */
export async function novaInMemory(t: TestContext): Promise<NovaInMemory> {
  const node: Body = {
    ...{ uuid: NODE, name: "n-1", provision_state: "active", power_state: "power on", ...REAL },
    ...{ instance_uuid: null, allocation_uuid: null, resource_class: "gold", maintenance: false },
    ...{ maintenance_reason: null, retired: false, last_error: null, reservation: null },
    ...{ automated_clean: null, target_power_state: null, protected: false, conductor_group: "" },
    ...{ protected_reason: null, lessee: null, console_enabled: false },
    ...{ properties: {}, driver_internal_info: {}, extra: { rack: 1 }, fault: null },
    instance_info: { image_source: IMAGE, root_gb: 10, capabilities: { boot_option: "local" } },
  };
  const port: Body = {
    ...{ id: VIF, mac_address: macOf(1), device_id: NODE, device_owner: "baremetal:none" },
    ...{ "binding:host_id": NODE, "binding:vif_type": "other", project_id: "p" },
    ...{ "binding:profile": { physical_network: "rack" }, dns_name: "db", revision_number: 1 },
  };
  const heard: string[] = [];
  t.after(() => assert.deepEqual(heard, []));
  const rules: Rules = {};
  const machine: NovaInMemory["machine"] = { power_state: "power on" };
  const held: LoadedRows = {
    ...{ node, port, rules, servers: new Map<string, Body>(), others: new Map<string, Body>() },
    cards: [
      { uuid: uuidOf(2, 1), node_uuid: NODE, address: macOf(1), extra: { vif_port_id: VIF } },
    ],
    heard: (what) => heard.push(what),
  };
  const { url, ...service } = await faultyService(t, {
    here: true,
    most: 82,
    answer: (call, sent, fields) => {
      const said = byVersion(held, call, fields) ?? answerTo(held, call, sent);
      // A conductor that looks now: it switches the machine to what its row says.
      if (
        node.driver !== FAKE &&
        node.maintenance !== true &&
        node.power_state !== machine.power_state
      )
        heard.push(`power sync after ${call}`);
      // A nova-compute that looks now: what it knows as stopped, and sees on, it stops, in maintenance too.
      const own = held.servers.get(String(node.instance_uuid));
      if (node.driver !== FAKE && own?.status === "SHUTOFF" && node.power_state === "power on")
        heard.push(`stopped by Nova after ${call}`);
      return said;
    },
  });
  const { servers, cards, others } = held;
  const dump = (): string =>
    JSON.stringify(
      [node, port, [...servers.values()], cards, [...others.values()]],
      (key, value: unknown) => (key === "revision_number" ? 0 : value),
    );
  return { url, ...service, node, port, others, cards, rules, machine, servers, heard, dump };
}

interface LoadedRows
  extends Pick<NovaInMemory, "node" | "port" | "others" | "cards" | "servers" | "rules"> {
  readonly heard: (what: string) => void;
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
  if (call === `GET /v1/nodes/${NODE}` && ofIronic === (rules.speaks ?? ""))
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

function answerTo(held: LoadedRows, call: string, sent: Json): Says {
  const [method = "", path = ""] = call.split(" ");
  const url = new URL(path, "http://cloud");
  const { node } = held;
  const what = `${method} ${url.pathname}`;
  if (what.includes("/v2.0/ports")) return neutron(held, what, sent);
  if (what === "GET /servers" || what === "GET /servers/detail") {
    const status = url.searchParams.get("status");
    const all = [...held.servers.values()].map(shown);
    return says(200, { servers: all.filter((one) => [null, one.status].includes(status)) });
  }
  if (what.includes("/servers")) return nova(held, what, sent);
  switch (what) {
    case "GET /v1/": {
      const { speaks } = held.rules;
      const fields = speaks && { "X-OpenStack-Ironic-API-Maximum-Version": speaks };
      return { ...says(200, { id: "v1" }), ...(fields && { fields }) };
    }
    case "GET /v1/nodes": {
      const isOfParent = url.searchParams.has("parent_node");
      return says(200, { nodes: isOfParent ? (held.rules.children ?? []) : [node] });
    }
    case "GET /v1/ports":
      return says(200, { ports: held.cards });
    case "GET /v1/portgroups":
      return says(200, { portgroups: [] });
    case "GET /v1/drivers":
      return says(200, { drivers: [{ name: FAKE, hosts: ["c"] }] });
    case "GET /v1/conductors":
      return says(200, {
        conductors: [{ hostname: "c", conductor_group: "", alive: true, drivers: [FAKE, "ipmi"] }],
      });
    case "GET /v1/volume/connectors":
      return says(200, { connectors: [] });
    case "GET /v1/volume/targets":
      return says(200, { targets: held.rules.volumes ?? [] });
    case "GET /os-availability-zone": {
      const zones = Object.entries({ nova: true, ...held.rules.zones });
      return says(200, {
        availabilityZoneInfo: zones.map(([zoneName, available]) => ({
          ...{ zoneName, zoneState: { available }, hosts: null },
        })),
      });
    }
    case "GET /flavors/detail": {
      const all = [{ id: "silver" }, { id: "gold", name: "bm.gold" }, { id: "tin", name: "gold" }];
      return says(200, { flavors: url.searchParams.has("marker") ? [] : all });
    }
    case "GET /flavors/gold":
      return says(200, { flavor: { id: "gold", extra_specs: { "resources:CUSTOM_GOLD": "1" } } });
    case `GET /resource_providers/${NODE}/inventories`: {
      const free = node.provision_state === "available" && node.maintenance !== true;
      return says(200, { inventories: { CUSTOM_GOLD: { total: 1, reserved: free ? 0 : 1 } } });
    }
    case `GET /resource_providers/${NODE}/allocations`: {
      const instance = node.instance_uuid ?? null;
      return says(200, { allocations: instance === null ? {} : { [String(instance)]: {} } });
    }
    default:
      return ironic(held, `${method} ${url.pathname.replace(`/v1/nodes/${NODE}`, "")}`, sent);
  }
}

function ironic({ node, rules, heard }: LoadedRows, what: string, sent: Json): Says {
  const isReal = node.driver !== FAKE;
  const { target, reason = null } = objectOf(sent);
  if (/states/.test(what) && isReal) heard(`${what} ${String(target)}`);
  switch (what) {
    case "GET ":
      return says(200, node);
    case "PATCH ":
      return patch(node, rules, Array.isArray(sent) ? (sent as readonly JsonObject[]) : []);
    case "PUT /maintenance":
      Object.assign(node, { maintenance: true, maintenance_reason: reason });
      return says(202, {});
    case "DELETE /maintenance":
      Object.assign(node, { maintenance: false, maintenance_reason: null });
      return says(202, {});
    case "PUT /states/power":
      node.power_state = target ?? null;
      return says(202, {});
    case "PUT /states/provision":
      return provision(node, String(target));
    default:
      return says(404, { error_message: "no such thing" });
  }
}

function patch(node: Body, { keeps = "" }: Rules, operations: readonly JsonObject[]): Says {
  const kept = node[keeps];
  const sets = (path: string) => operations.find((one) => one.path === path)?.value;
  const driver = sets("/driver");
  const touches = operations.some(({ path }) => /^\/driver$|_interface$/.test(String(path)));
  if (touches && node.provision_state === "active" && node.maintenance !== true)
    return says(409, { error_message: "it is active, and not in maintenance" });
  if (driver === FAKE)
    for (const kind of KINDS)
      node[`${kind}_interface`] = /network|storage/.test(kind) ? "flat" : "fake";
  for (const { op, path, value } of operations) {
    const [, field = "", key] = String(path).split("/");
    if (key === undefined) node[field] = op === "remove" ? null : (value ?? null);
    else {
      const { [key]: _gone, ...others } = objectOf(node[field]);
      node[field] = op === "remove" ? others : { ...others, [key]: value ?? null };
    }
  }
  if (kept !== undefined) node[keeps] = kept;
  if (node.protected === false) node.protected_reason = null;
  return says(200, node);
}

const VERBS: { readonly [verb: string]: readonly [from: RegExp, to: string] } = {
  deleted: [/^active$/, "available"],
  manage: [/^available$/, "manageable"],
  adopt: [/^manageable$/, "active"],
};

function provision(node: Body, verb: string): Says {
  const [from, to] = VERBS[verb] ?? [/(?!)/, ""];
  if (!from.test(String(node.provision_state)))
    return says(400, { error_message: `${verb} of ${String(node.provision_state)}` });
  if (verb === "deleted" && node.protected === true)
    return says(403, { error_message: "it is protected" });
  node.provision_state = to;
  if (verb === "deleted")
    Object.assign(node, { instance_info: {}, instance_uuid: null, lessee: null });
  return says(202, {});
}

function nova(
  { node, port, others, servers, rules, heard }: LoadedRows,
  what: string,
  sent: Json,
): Says {
  const [, , id = "", action] = what.split(" ")[1]?.split("/") ?? [];
  const server = servers.get(id);
  const isReal = node.driver !== FAKE;
  if (what === "POST /servers")
    return boot({ node, port, servers, rules }, objectOf(objectOf(sent).server));
  if (server === undefined) return says(404, { itemNotFound: { message: "no such server" } });
  if (action === "os-interface") {
    const all = [port, ...others.values()].filter(({ device_id }) => device_id === id);
    return says(200, { interfaceAttachments: all.map((one) => ({ port_id: one.id })) });
  }
  if (action === "os-instance-actions") {
    const isBusy = server["OS-EXT-STS:task_state"] !== null || server.status !== "ACTIVE";
    const all = ["create", ...(isBusy ? ["stop"] : [])].map((one) => ({ action: one }));
    return says(200, { instanceActions: all });
  }
  if (what.startsWith("GET")) return says(200, { server });
  if (isReal) heard(what);
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
  for (const [made, { device_id }] of others) if (device_id === id) others.delete(made);
  // What never came to a machine has none to leave.
  if (node.instance_uuid !== id) return { status: 204, text: "" };
  Object.assign(node, { provision_state: "available", instance_info: {}, instance_uuid: null });
  node.lessee = null;
  if (port.device_id === id)
    Object.assign(port, { device_id: "", device_owner: "", dns_name: "", ...UNBOUND });
  return { status: 204, text: "" };
}

function boot(
  { node, port, servers, rules }: Omit<LoadedRows, "heard" | "cards" | "others">,
  asked: JsonObject,
): Says {
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
    "OS-EXT-SRV-ATTR:hypervisor_hostname": rules.rival === undefined ? NODE : null,
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
    Object.assign(port, {
      ...{ device_id: id, device_owner: "compute:nova", dns_name: hostname, ...UNBOUND },
    });
  return says(202, { server: { id } });
}

/** @source nova 26: network/neutron.py, _unbind_ports, _update_port_dns_name */
const UNBOUND = { "binding:host_id": "", "binding:profile": {}, "binding:vif_type": "unbound" };

function neutron({ port, others, rules: { unbound } }: LoadedRows, what: string, sent: Json): Says {
  if (what === "GET /v2.0/ports") return says(200, { ports: [port, ...others.values()] });
  const one = others.get(what.split("/").at(-1) ?? "") ?? port;
  const written = what.startsWith("PUT") ? objectOf(objectOf(sent).port) : {};
  Object.assign(one, written);
  if (written["binding:host_id"] !== undefined)
    one["binding:vif_type"] = unbound === true ? "binding_failed" : "other";
  return says(200, { port: one });
}
