import type { TestContext } from "node:test";
import { isObject, type Json, type JsonObject, objectOf } from "../../src/lib/json.ts";
import { faultyService, type Says } from "../support/faulty-service.ts";

type Body = Record<string, Json>;

/** Things of a page. @source ironic: [api]max_limit */
const PAGE = 1000;

/**
 * Ironic 2023.1, Neutron 21, Glance and a Keystone that gives a token to all, as far as running machines go.
 *
 * @param most Ironic's highest microversion
 * @param also what answers before all else; null: as usual
 */
export async function inMemory(
  t: Pick<TestContext, "after">,
  most = 82,
  also: (held: Kept, call: string, sent: Json) => Says | null = () => null,
) {
  const held = noRows();
  const { url, ...service } = await faultyService(t, {
    here: true,
    most,
    answer: (call, sent, headers) =>
      also(held, call, sent) ?? answerTo(held, call, sent, headers["if-match"]),
  });
  return {
    ...held,
    ...{ ironic: url, neutron: url, ...service },
    /** What the command line and its environment name them by. */
    words: ["--ironic-url", url],
    how: { env: { OS_NETWORK_ENDPOINT_OVERRIDE: url, OS_IMAGE_ENDPOINT_OVERRIDE: url } },
    /** What its environment has besides where there is a Keystone. */
    login: {
      ...{ OS_AUTH_URL: url, OS_USERNAME: "admin", OS_PASSWORD: "of-the-service" },
      ...{ OS_PROJECT_NAME: "admin", OS_USER_DOMAIN_ID: "default" },
      OS_PROJECT_DOMAIN_ID: "default",
    },
  };
}

export type InMemory = Awaited<ReturnType<typeof inMemory>>;
export type Kept = ReturnType<typeof noRows>;

/** What the services keep, by uuid: nothing yet. */
export function noRows() {
  const kinds = { nodes: rows(), ports: rows(), portgroups: rows(), connectors: rows() };
  return { ...kinds, targets: rows(), allocations: rows(), network: rows(), images: rows() };
}

const rows = () => new Map<string, Body>();

/** @source facts/ironic.md 4; facts/systems.md C2, and measured on Ironic 21.4 and Neutron 21 */
export function answerTo(held: Kept, call: string, sent: Json, match: string | undefined): Says {
  const [method = "", path = ""] = call.split(" ");
  const url = new URL(path, "http://cloud");
  const [, version, kind = "", id = "", ...rest] = url.pathname
    .replace("/v1/volume/", "/v1/")
    .split("/");
  if (version === "v3")
    return { ...says(201, {}), fields: { "X-Subject-Token": "of-the-service" } };
  if (version === "v2") return glance(held.images, id, url);
  if (version === "v2.0") return neutron(held.network, `${method} ${id}`, url, sent, match);
  if (kind === "") return says(200, { id: "v1" });
  if (kind === "conductors") return says(200, { conductors: [] });
  if (!isKind(kind)) return refuses(404, `no such thing as ${kind}`);
  const one = held[kind].get(id) ?? named(held[kind], id);
  if ((id === "" || id === "detail") && method === "GET")
    return listOf(kind, [...held[kind].values()], url);
  if (id === "" && kind === "allocations") return allocate(held, objectOf(sent));
  if (id === "") return made(held[kind], kind, objectOf(sent));
  if (one === undefined) return refuses(404, `${kind} ${id} could not be found.`);
  switch (`${kind} ${method} ${rest.join("/")}`) {
    case `${kind} GET `:
      return says(200, one);
    case "nodes PATCH ":
      return patch(one, listIn(sent));
    case "nodes PUT maintenance":
      one.maintenance = true;
      one.maintenance_reason = objectOf(sent).reason ?? null;
      return says(202, {});
    case "nodes DELETE maintenance":
      Object.assign(one, { maintenance: false, maintenance_reason: null });
      return says(202, {});
    case "nodes PUT states/provision":
      return provision(one, String(objectOf(sent).target));
    case "nodes PUT traits":
      one.traits = objectOf(sent).traits ?? [];
      return NO_CONTENT;
    case "nodes DELETE ":
      return remove(held, one);
    case "ports DELETE ":
      held.ports.delete(id);
      return NO_CONTENT;
    case "allocations DELETE ":
      return unallocate(held, one);
    default:
      return refuses(404, "no such call");
  }
}

export function listIn(sent: Json): readonly JsonObject[] {
  return Array.isArray(sent) ? sent.map(objectOf) : [];
}

const NO_CONTENT: Says = { status: 204, text: "" };
const KINDS = ["nodes", "ports", "portgroups", "connectors", "targets", "allocations"] as const;

function isKind(kind: string): kind is (typeof KINDS)[number] {
  return (KINDS as readonly string[]).includes(kind);
}

function named(kept: ReadonlyMap<string, Body>, name: string): Body | undefined {
  return name === "" ? undefined : [...kept.values()].find((one) => one.name === name);
}

function made(kept: Map<string, Body>, kind: string, row: JsonObject): Says {
  const uuid = String(row.uuid);
  if (kept.has(uuid)) return refuses(409, `${kind} ${uuid} already exists.`);
  const enrolled = { console_enabled: false, maintenance: false, protected: false };
  const own = kind === "nodes" ? { ...enrolled, provision_state: "enroll", ...row } : { ...row };
  kept.set(uuid, own);
  return says(201, own);
}

function remove({ nodes, ports }: Kept, { uuid = null, ...node }: Body): Says {
  if (node.protected === true) return refuses(403, `Node ${String(uuid)} is protected.`);
  if (node.maintenance !== true) return refuses(409, `Node ${String(uuid)} is active.`);
  nodes.delete(String(uuid));
  for (const [port, { node_uuid }] of ports) if (node_uuid === uuid) ports.delete(port);
  return NO_CONTENT;
}

/** Where a verb leads to, and from where. @source facts/ironic.md 4.2, 4.4, 4.6 */
const VERBS: { readonly [target: string]: readonly [to: string, ...from: readonly string[]] } = {
  manage: ["manageable", "enroll", "adopt failed", "available"],
  adopt: ["active", "manageable", "adopt failed"],
  provide: ["available", "manageable"],
  deleted: ["available", "active"],
};

function provision(node: Body, target: string): Says {
  const [to = "", ...from] = VERBS[target] ?? [];
  const state = String(node.provision_state);
  if (!from.includes(state)) return refuses(400, `${target} can not be performed in ${state}.`);
  if (target === "deleted" && node.protected === true) return refuses(403, "It is protected.");
  // Cleaning begins unless the node itself refuses it.
  const cleans = to === "available" && node.automated_clean !== false;
  node.provision_state = cleans ? "clean wait" : to;
  if (target === "deleted")
    Object.assign(node, { instance_info: {}, instance_uuid: null, lessee: null });
  return says(202, {});
}

const CHOSEN: { readonly [name: string]: (body: Body, value: string) => boolean } = {
  provision_state: (body, value) => body.provision_state === value,
  associated: (body, value) => (body.instance_uuid !== null) === (value === "true"),
  maintenance: (body, value) => body.maintenance === (value === "true"),
  node: (body, value) => body.node_uuid === value,
  node_uuid: (body, value) => body.node_uuid === value,
  address: (body, value) => body.address === value,
};

function listOf(kind: string, all: readonly Body[], url: URL): Says {
  const query = url.searchParams;
  const fits = all.filter((body) =>
    [...query].every(([name, value]) => CHOSEN[name]?.(body, value) ?? true),
  );
  const most = Math.min(PAGE, Number(query.get("limit") ?? PAGE));
  const { page, isLast } = pageOf(fits, "uuid", query.get("marker"), most);
  const more = !isLast && { next: `${url.origin}/more` };
  const fields = query.get("fields")?.split(",");
  const told = page.map((body) =>
    fields === undefined
      ? body
      : Object.fromEntries(fields.map((field) => [field, body[field] ?? null])),
  );
  return says(200, { [kind]: told, ...more });
}

function pageOf(all: readonly Body[], key: string, marker: string | null, most: number) {
  const from = marker === null ? 0 : all.findIndex((one) => one[key] === marker) + 1;
  return { page: all.slice(from, from + most), isLast: from + most >= all.length };
}

function patch(node: Body, operations: readonly JsonObject[]): Says {
  // As 2023.1 does: it looks at a value that a removal has not.
  if (operations.some(({ op, path }) => op === "remove" && path === "/automated_clean"))
    return refuses(500, "'value'");
  for (const operation of operations)
    if (!patched(node, operation))
      return refuses(400, `Couldn't apply patch: ${String(operation.path)}`);
  // A reason goes with the protection it is for.
  if ("protected" in node && node.protected !== true) node.protected_reason = null;
  return says(200, node);
}

/** @returns whether there was what it is about */
function patched(node: Body, { op, path, value }: JsonObject): boolean {
  const [, field = "", key] = String(path)
    .split("/")
    .map((one) => one.replaceAll("~1", "/").replaceAll("~0", "~"));
  const under = node[field];
  if (key === undefined) node[field] = value ?? null;
  else if (!isObject(under) || (op === "remove" && !(key in under))) return false;
  else {
    const { [key]: _gone, ...others } = under;
    node[field] = op === "remove" ? others : { ...under, [key]: value ?? null };
  }
  return true;
}

function allocate(held: Kept, { uuid, name = null, node, resource_class, extra = {} }: Body): Says {
  const to = held.nodes.get(String(node));
  if (to === undefined) return refuses(400, `Node ${String(node)} could not be found.`);
  if (name !== null && named(held.allocations, String(name)) !== undefined)
    return refuses(409, `An allocation with name ${String(name)} already exists.`);
  if (held.allocations.has(String(uuid)))
    return refuses(409, `An allocation with UUID ${String(uuid)} already exists.`);
  if (to.instance_uuid !== null && to.instance_uuid !== uuid)
    return refuses(
      409,
      `Node ${String(node)} is associated with instance ${String(to.instance_uuid)}.`,
    );
  const failed = to.provision_state !== "active" || to.resource_class !== resource_class;
  const made: Body = {
    ...{ uuid: uuid ?? null, name, resource_class: resource_class ?? null, extra },
    ...{ node_uuid: failed ? null : (node ?? null), state: failed ? "error" : "active" },
    last_error: failed ? "Cannot backfill an allocation" : null,
    ...{ created_at: "2026-01-02T00:00:00+00:00", updated_at: null },
  };
  held.allocations.set(String(uuid), made);
  if (failed) return refuses(500, "Cannot backfill an allocation for this node.");
  Object.assign(to, { instance_uuid: uuid, allocation_uuid: uuid });
  to.instance_info = { ...objectOf(to.instance_info), traits: [] };
  return says(201, made);
}

function unallocate({ nodes, allocations }: Kept, one: Body): Says {
  const node = nodes.get(String(one.node_uuid));
  if (node?.provision_state === "active" && node.maintenance !== true)
    return refuses(409, `Cannot remove allocation ${String(one.uuid)}: node is active.`);
  allocations.delete(String(one.uuid));
  if (node !== undefined) Object.assign(node, { instance_uuid: null, allocation_uuid: null });
  return NO_CONTENT;
}

function neutron(
  ports: Kept["network"],
  what: string,
  url: URL,
  sent: Json,
  match: string | undefined,
): Says {
  const [method, id = ""] = what.split(" ");
  const port = ports.get(id);
  if (id === "") {
    const ids = url.searchParams.getAll("id");
    const fits = [...ports.values()].filter(
      (one) => ids[0] === undefined || ids.includes(String(one.id)),
    );
    const { page, isLast } = pageOf(fits, "id", url.searchParams.get("marker"), PAGE);
    const more = !isLast && { ports_links: [{ rel: "next", href: "" }] };
    return says(200, { ports: page, ...more });
  }
  if (port === undefined) return absent(404, `Port ${id} could not be found.`);
  if (method === "GET") return says(200, { port });
  if (match !== undefined && match !== `revision_number=${String(port.revision_number)}`)
    return absent(412, "RevisionNumberConstraintFailed");
  const { extra_dhcp_opts: options, ...fields } = objectOf(objectOf(sent).port);
  Object.assign(port, fields);
  if (options !== undefined) port.extra_dhcp_opts = optionsOf(port.extra_dhcp_opts, options);
  port.revision_number = Number(port.revision_number) + 1;
  return says(200, { port });
}

/** What is named with null is taken away, what is not named stays. @source Neutron's API, extra_dhcp_opts */
function optionsOf(had: Json | undefined, sent: Json): Json {
  const values = new Map<string, Json>();
  for (const options of [had ?? [], sent])
    for (const { opt_name = null, opt_value = null } of listIn(options))
      values.set(String(opt_name), opt_value);
  return [...values].flatMap(([opt_name, opt_value]) =>
    opt_value === null ? [] : [{ opt_name, opt_value, ip_version: 4 }],
  );
}

function glance(images: Kept["images"], id: string, url: URL): Says {
  const one = images.get(id);
  if (id !== "") return one === undefined ? says(404, {}) : says(200, one);
  const all = [...images.values()].filter(({ name }) => name === url.searchParams.get("name"));
  return says(200, { images: all });
}

export function says(status: number, body: unknown): Says {
  return { status, text: JSON.stringify(body) };
}

/** An error as Ironic words it: JSON in JSON. */
export function refuses(status: number, faultstring: string): Says {
  return says(status, { error_message: JSON.stringify({ faultcode: "Client", faultstring }) });
}

function absent(status: number, message: string): Says {
  return says(status, { NeutronError: { type: "Error", message, detail: "" } });
}

/** It has a letter, so that one in upper case is another text. */
export function uuidOf(kind: number, at: number): string {
  return `${String(kind).repeat(8)}-0000-4000-a000-${String(at).padStart(12, "0")}`;
}

export function macOf(at: number): string {
  const hex = at.toString(16).padStart(6, "0");
  return `52:54:00:${hex.slice(0, 2)}:${hex.slice(2, 4)}:${hex.slice(4)}`;
}

/** A node that can be managed, of the usual class, with one card and the Neutron port of its tenant. */
export function addRunning(cloud: InMemory, at: number, more: Body = {}): string {
  const uuid = uuidOf(1, at);
  cloud.nodes.set(uuid, {
    ...{ uuid, name: `n-${at}`, provision_state: "active", power_state: "power on" },
    ...{ instance_uuid: null, allocation_uuid: null, resource_class: "gold", maintenance: false },
    ...{ maintenance_reason: null, retired: false, last_error: null, reservation: null },
    ...{ properties: { cpus: 4 }, instance_info: {}, extra: {} },
    created_at: "2026-01-01T00:00:00+00:00",
    ...more,
  });
  const vif = uuidOf(3, at);
  addCard(cloud, uuid, at, { internal_info: { tenant_vif_port_id: vif } });
  cloud.network.set(vif, {
    ...{ id: vif, mac_address: macOf(at), device_id: "", device_owner: "", revision_number: 1 },
  });
  return uuid;
}

export function addCard(cloud: InMemory, node: string, at: number, more: Body = {}): string {
  const uuid = uuidOf(2, at);
  cloud.ports.set(uuid, {
    ...{ uuid, node_uuid: node, address: macOf(at), internal_info: {}, extra: {} },
    ...more,
  });
  return uuid;
}

/** A bond of a node, without a VIF unless that is said. */
export function addBond(cloud: InMemory, at: number, more: Body = {}): void {
  const bond = { uuid: uuidOf(4, at), node_uuid: uuidOf(1, at), address: null, mode: "802.3ad" };
  const all = { ...bond, internal_info: {}, extra: {}, ...more };
  cloud.portgroups.set(all.uuid, all);
}

/** What all of it is, for a comparison; Neutron counts revisions, which nobody gives back. */
export function dumped({ nodes, ports, portgroups, allocations, network }: InMemory): string {
  const all = [nodes, ports, portgroups, allocations, network].map((kept) => [...kept.values()]);
  return JSON.stringify(all, (key, value: unknown) => (key === "revision_number" ? 0 : value), 1);
}
