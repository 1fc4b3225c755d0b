import type { TestContext } from "node:test";
import { isObject, type Json, type JsonObject, objectOf } from "../../src/lib/json.ts";
import { inMemory, type Kept, refuses, says, uuidOf } from "../manage/in-memory.ts";
import type { Says } from "../support/faulty-service.ts";

/** A machine behind a node, as its BMC has it. */
export interface Machine {
  on: boolean;
  dead: boolean;
  /** Its driver can shut down softly. */
  soft: boolean;
  /** Its operating system does so. */
  obeys: boolean;
  /** Its BMC says that it did what it was told, and the machine stays on. */
  stuck?: true;
}

type Body = Record<string, Json>;

const hardware = () => ({
  ...{ machines: new Map<string, Machine>(), told: [] as string[] },
  ...{ attached: new Map<string, string[]>(), files: new Map<string, readonly string[]>() },
  /** What conductors do next, one thing each time somebody looks at the node. */
  next: new Map<string, (() => void)[]>(),
});

type LoadedRows = Kept & ReturnType<typeof hardware>;

/** @source facts/systems.md B2; facts/systems-measured.md B2+ */
export async function switchable(t: TestContext, most = 82) {
  const own = hardware();
  const cloud = await inMemory(t, most, (of, call, sent) =>
    answerTo({ ...of, ...own }, call, sent),
  );
  return {
    ...{ ...cloud, ...own },
    /** Changes a node as Ironic has it, or the machine behind it. */
    setNode: (uuid: string, to: object) => Object.assign(cloud.nodes.get(uuid) ?? {}, to),
    setMachine: (uuid: string, to: Partial<Machine>) => Object.assign(machineOf(own, { uuid }), to),
  };
}

export type Switchable = Awaited<ReturnType<typeof switchable>>;

function answerTo(held: LoadedRows, call: string, sent: Json): Says | null {
  const [method = "", path = ""] = call.split(" ");
  const [, , kind = "", id = "", ...rest] = new URL(path, "http://cloud").pathname
    .replace("/v1/volume/", "/v1/")
    .split("/");
  if (kind === "connectors" || kind === "targets")
    return method === "PATCH" && id !== "" ? moved(held, kind, id, sent) : null;
  const node = kind === "nodes" ? held.nodes.get(id) : undefined;
  if (node === undefined) return null;
  const what = `${method} ${rest[0] ?? ""}${rest[0] === "states" ? ` ${rest[1]}` : ""}`;
  const vifs = held.attached.get(id) ?? [];
  const otherVifs = vifs.filter((vif) => vif !== rest[1]);
  if (method === "GET" && rest.length === 0) held.next.get(id)?.shift()?.();
  if (method !== "GET" && typeof node.reservation === "string")
    return refuses(409, `Node ${id} is locked by host lab, please retry.`);
  switch (what) {
    case "PATCH ":
      return patched(held, node, sent);
    case "DELETE maintenance":
      node.fault = null;
      return null;
    case "GET vifs":
      return says(200, { vifs: vifs.map((vif) => ({ id: vif })) });
    case "POST vifs":
      held.attached.set(id, [...vifs, String(objectOf(sent).id)]);
      return { status: 204, text: "" };
    case "DELETE vifs":
      held.attached.set(id, otherVifs);
      return { status: 204, text: "" };
    case "GET validate":
      return says(200, { power: VALID, boot: VALID, storage: VALID });
    case "PUT states power":
      return powered(held, node, objectOf(sent));
    case "PUT states provision":
      return provisioned(held, node, String(objectOf(sent).target));
    default:
      return null;
  }
}

const VALID = { result: true };

/** @source ironic 21.4.4: common/states.py, UPDATE_ALLOWED_STATES has none of them */
const STILL = new Set<unknown>(["cleaning", "clean wait", "deploying", "deleting"]);

function patched({ nodes, allocations }: LoadedRows, node: Body, sent: Json): Says | null {
  const { uuid, provision_state } = node;
  const moving = "can not be updated while a state transition is in progress.";
  if (STILL.has(provision_state)) return refuses(409, `Node ${String(uuid)} ${moving}`);
  const asked = (Array.isArray(sent) ? (sent as readonly Json[]) : []).map(objectOf);
  const instance = asked.find((one) => one.path === "/instance_uuid")?.value;
  const others = [...nodes.values()].filter((one) => one.uuid !== uuid);
  if (instance !== undefined && others.some((one) => one.instance_uuid === instance))
    return refuses(409, "Instance is already associated with a node.");
  const removes = (field: string): boolean =>
    asked.some(({ op, path }) => op === "remove" && path === field);
  // As Ironic 21.4 does.
  if (removes("/automated_clean")) return refuses(500, "'value'");
  // Whoever takes an instance off a node takes its allocation away.
  if (!removes("/instance_uuid") || node.allocation_uuid === null) return null;
  if (node.provision_state === "active" && node.maintenance !== true)
    return refuses(409, "Cannot remove the allocation of an active node.");
  allocations.delete(String(node.allocation_uuid));
  node.allocation_uuid = null;
  return null;
}

function moved(held: LoadedRows, kind: "connectors" | "targets", id: string, sent: Json): Says {
  const one = held[kind].get(id);
  const [operation] = Array.isArray(sent) ? (sent as readonly Json[]) : [];
  const to = held.nodes.get(String(objectOf(operation).value));
  if (one === undefined || to === undefined)
    return refuses(404, `${kind} ${id} could not be found.`);
  if (to.power_state !== "power off")
    return refuses(400, `Node ${String(to.uuid)} must be powered off.`);
  one.node_uuid = to.uuid ?? null;
  return says(200, one);
}

function machineOf({ machines }: Pick<LoadedRows, "machines">, { uuid }: Body): Machine {
  const found = machines.get(String(uuid));
  if (found === undefined) throw new Error(`no machine behind ${String(uuid)}`);
  return found;
}

function powered(held: LoadedRows, node: Body, { target }: JsonObject): Says {
  const machine = machineOf(held, node);
  const uuid = String(node.uuid);
  const soft = target === "soft power off";
  if (soft && !machine.soft)
    return refuses(400, "The driver ipmi does not support the power state, soft power off.");
  Object.assign(node, { last_error: null, reservation: "lab", target_power_state: target });
  const done = (): void => {
    Object.assign(node, { reservation: null, target_power_state: null });
    const on = target === "power on";
    if (machine.stuck && !on) return;
    if (machine.dead || (soft && !machine.obeys)) {
      node.last_error = `Failed to change power state to '${String(target)}'`;
      return;
    }
    node.power_state = on ? "power on" : "power off";
    if (machine.on === on) return;
    machine.on = on;
    if (on) booted(held, uuid);
    held.told.push(`${String(node.name)} ${soft ? "soft" : on ? "on" : "off"}`);
    node.driver_internal_info = { last_power_state_change: `change ${held.told.length}` };
  };
  held.next.set(uuid, [() => undefined, done]);
  return { status: 202, text: "" };
}

/** What a machine that goes on mounts: nothing that another which is on has. */
function booted({ files, machines, told }: LoadedRows, uuid: string): void {
  for (const [other, volumes] of files)
    if (other !== uuid && machines.get(other)?.on === true)
      for (const one of volumes)
        if (files.get(uuid)?.includes(one) === true) told.push(`${one} is mounted twice`);
}

const GOES: { readonly [target: string]: readonly [from: readonly string[], through: string] } = {
  manage: [["enroll"], "verifying"],
  provide: [["manageable"], "cleaning"],
  active: [["available", "deploy failed"], "deploying"],
  deleted: [["active", "error"], "deleting"],
};

function provisioned(held: LoadedRows, node: Body, target: string): Says {
  const [from, through] = GOES[target] ?? [[], ""];
  const machine = machineOf(held, node);
  const uuid = String(node.uuid);
  if (!from.includes(String(node.provision_state)))
    return refuses(400, `The requested action "${target}" can not be performed.`);
  node.provision_state = through;
  const ends: { readonly [target: string]: () => void } = {
    manage() {
      node.power_state = machine.on ? "power on" : "power off";
      node.provision_state = "manageable";
    },
    provide() {
      if (node.automated_clean !== false) held.told.push(`${String(node.name)} clean`);
      node.provision_state = "available";
    },
    active() {
      const own = [...held.targets].filter(([, { node_uuid }]) => node_uuid === uuid);
      held.files.set(uuid, [...new Map(own).keys()]);
      if (!machine.on) held.told.push(`${String(node.name)} on`);
      machine.on = true;
      booted(held, uuid);
      Object.assign(node, { power_state: "power on", provision_state: "active" });
    },
    deleted() {
      held.files.delete(uuid);
      if (node.automated_clean !== false) held.told.push(`${String(node.name)} clean`);
      node.provision_state = machine.dead ? "error" : "available";
      node.instance_info = {};
    },
  };
  held.next.set(uuid, [() => undefined, () => ends[target]?.()]);
  return { status: 202, text: "" };
}

export const SECRET = "chap-canary-0b5c";
export const SOURCE = uuidOf(1, 1);
export const SPARE = uuidOf(1, 11);

/** A machine that boots from an iSCSI volume, on; and a spare like it, off. */
export function addPair(cloud: Switchable): void {
  const like = {
    ...{ driver: "ipmi", resource_class: "gold", storage_interface: "external", traits: [] },
    ...{ boot_interface: "ipxe", network_interface: "noop", deploy_interface: "direct" },
    ...{ maintenance: false, maintenance_reason: null, fault: null, retired: false },
    ...{ reservation: null, target_power_state: null, target_provision_state: null },
    ...{ last_error: null, automated_clean: null, allocation_uuid: null },
    ...{ protected: false, protected_reason: null },
    properties: { cpus: 4, memory_mb: 8192, capabilities: "iscsi_boot:True" },
    ...{ driver_internal_info: {}, network_data: {}, lessee: null, owner: null },
  };
  cloud.nodes.set(SOURCE, {
    ...{ ...like, uuid: SOURCE, name: "n-1", provision_state: "active", power_state: "power on" },
    ...{ instance_uuid: uuidOf(9, 1), allocation_uuid: uuidOf(9, 1), description: "a shop" },
    ...{ instance_info: { display_name: "web", image_source: "x" }, extra: { "a/b~": 1, rack: 7 } },
  });
  cloud.nodes.set(SPARE, {
    ...{ ...like, uuid: SPARE, name: "s-1", provision_state: "enroll", power_state: null },
    ...{ instance_uuid: null, instance_info: {}, extra: { rack: 9, own: true }, description: null },
  });
  cloud.allocations.set(uuidOf(9, 1), {
    ...{ uuid: uuidOf(9, 1), name: "web", node_uuid: SOURCE, state: "active" },
    ...{ resource_class: "gold", extra: { who: "me" }, last_error: null },
    ...{ created_at: "2026-01-02T00:00:00+00:00", updated_at: null },
  });
  cloud.machines.set(SOURCE, { on: true, dead: false, soft: true, obeys: true });
  cloud.machines.set(SPARE, { on: false, dead: false, soft: true, obeys: true });
  cloud.files.set(SOURCE, [uuidOf(5, 1), uuidOf(5, 2)]);
  cloud.attached.set(SOURCE, [uuidOf(3, 1), uuidOf(3, 2)]);
  cloud.attached.set(SPARE, []);
  for (const [at, boot_index] of [0, 1].entries())
    cloud.targets.set(uuidOf(5, at + 1), {
      ...{ uuid: uuidOf(5, at + 1), node_uuid: SOURCE, volume_type: "iscsi", boot_index },
      ...{ volume_id: `v-${at}`, properties: { auth_password: SECRET } },
    });
  cloud.connectors.set(uuidOf(6, 1), {
    ...{ uuid: uuidOf(6, 1), node_uuid: SOURCE, type: "iqn", connector_id: "iqn.2026:n-1" },
  });
  for (const [at, node_uuid] of [SOURCE, SPARE].entries())
    cloud.ports.set(uuidOf(2, at), {
      ...{ uuid: uuidOf(2, at), node_uuid, address: `52:54:00:00:00:0${at}`, internal_info: {} },
      ...{ extra: {}, pxe_enabled: true, physical_network: null, portgroup_uuid: null },
      is_smartnic: false,
    });
}

function copyOf(all: ReadonlyMap<string, Body>, uuid: string): Body {
  return structuredClone(all.get(uuid) ?? {});
}

/** Another machine like the source, with a volume and an instance of its own. */
export function addSource(cloud: Switchable, at: number): string {
  const uuid = uuidOf(1, 20 + at);
  const instance = uuidOf(9, 20 + at);
  const [target, connector, port] = [uuidOf(5, 20 + at), uuidOf(6, 20 + at), uuidOf(2, 20 + at)];
  cloud.nodes.set(uuid, {
    ...{ ...copyOf(cloud.nodes, SOURCE), uuid, name: `m-${at}`, instance_uuid: instance },
    allocation_uuid: instance,
  });
  cloud.allocations.set(instance, {
    ...{ ...copyOf(cloud.allocations, uuidOf(9, 1)), uuid: instance },
    ...{ name: `web-${at}`, node_uuid: uuid },
  });
  cloud.machines.set(uuid, { on: true, dead: false, soft: true, obeys: true });
  cloud.attached.set(uuid, []);
  cloud.targets.set(target, {
    ...{ ...copyOf(cloud.targets, uuidOf(5, 1)), uuid: target, node_uuid: uuid },
    volume_id: `v-m-${at}`,
  });
  cloud.connectors.set(connector, {
    ...{ ...copyOf(cloud.connectors, uuidOf(6, 1)), uuid: connector, node_uuid: uuid },
    connector_id: `iqn.2026:m-${at}`,
  });
  const address = `52:54:00:00:01:${20 + at}`;
  cloud.ports.set(port, {
    ...{ ...copyOf(cloud.ports, uuidOf(2, 0)), uuid: port, node_uuid: uuid, address },
  });
  return uuid;
}

export function addSpare(cloud: Switchable, at: number): string {
  const [uuid, port] = [uuidOf(1, 60 + at), uuidOf(2, 60 + at)];
  cloud.nodes.set(uuid, { ...copyOf(cloud.nodes, SPARE), uuid, name: `t-${at}` });
  cloud.machines.set(uuid, { on: false, dead: false, soft: true, obeys: true });
  cloud.attached.set(uuid, []);
  const address = `52:54:00:00:02:${10 + at}`;
  cloud.ports.set(port, {
    ...{ ...copyOf(cloud.ports, uuidOf(2, 1)), uuid: port, node_uuid: uuid, address },
  });
  return uuid;
}

/** What of all of it a rollback gives back: an enrolled spare stays manageable, and its power known. */
export function switchedDump(cloud: Switchable): string {
  const { nodes, connectors, targets, allocations, attached, machines, files } = cloud;
  const all = [nodes, connectors, targets, allocations, machines].map((kept) =>
    [...kept].toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
  const given = new Set(["driver_internal_info", "last_error"]);
  const same = new Map<unknown, string>([
    ["enroll", "manageable"],
    [null, "power off"],
  ]);
  return JSON.stringify(
    [all, [...attached], [...files]],
    function (this: unknown, key, value: unknown) {
      const state = key === "provision_state" || key === "power_state";
      return given.has(key) ? 0 : state ? (same.get(value) ?? value) : sorted(value);
    },
    1,
  );
}

function sorted(value: unknown): unknown {
  if (!isObject(value)) return value;
  const keys = Object.entries(value as JsonObject);
  return Object.fromEntries(keys.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
