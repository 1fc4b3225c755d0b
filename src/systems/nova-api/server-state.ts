import { MigrationError, orNull } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import type { FlavorResources } from "../../model/ironic/manage.ts";
import { ask, incomplete, type ServiceSession } from "../openstack/session.ts";

export type NovaServer = NonNullable<ReturnType<typeof serverOf>>;

const NODE = "OS-EXT-SRV-ATTR:hypervisor_hostname";

export const MARK = "nova2ironic_manage";

export type Turned = "ACTIVE" | "SHUTOFF";

export interface MadeServer {
  readonly id: string;
  /** Requested more than once, so a delayed call may have created another server. */
  readonly again?: boolean;
}

/** Its calls throw MigrationError N2I-E210 to N2I-E212. */
export function novaReader(session: ServiceSession) {
  /** Lists all servers, because Nova cannot search metadata. */
  async function findAll(mark: string): Promise<readonly NovaServer[]> {
    const found: NovaServer[] = [];
    for await (const page of listed(session))
      for (const one of page) {
        const server = serverOf(one);
        if (objectOf(one.metadata)[MARK] === mark && server !== null) found.push(server);
      }
    return found;
  }
  return {
    async read(id: string): Promise<NovaServer | null> {
      const path = `/servers/${id}`;
      const body = await ask(session, path);
      if (body === null) return null;
      const found = serverOf(objectOf(body).server ?? null);
      if (found === null) throw incomplete(session, path, "the server");
      return found.status === "DELETED" ? null : found;
    },
    /**
     * All ports that Nova unbinds or deletes with the server.
     *
     * @source nova 26: network/neutron.py, deallocate_for_instance; compute/attach_interfaces.py, index
     */
    async portsOn(id: string): Promise<readonly string[]> {
      const path = `/servers/${id}/os-interface`;
      const body = await ask(session, path);
      if (body === null) return [];
      const { interfaceAttachments: all } = objectOf(body);
      if (!Array.isArray(all)) throw incomplete(session, path, "the ports");
      return all.map((one) => String(objectOf(one).port_id));
    },
    /**
     * Whether creation is the only recorded action. Nova records an action before nova-compute
     * receives it, except a delete while nova-compute is down. False if unknown.
     *
     * @source nova: compute/api.py, _record_action_start, _local_delete; Neutron is not called
     */
    async isUntouched(id: string): Promise<boolean> {
      const body = await orNull(ask(session.at(LIVE_ONLY), `/servers/${id}/os-instance-actions`));
      const { instanceActions: all } = objectOf(body);
      return Array.isArray(all) && all.length === 1 && objectOf(all[0]).action === "create";
    },
    /**
     * The server of a run. The response may have been lost, and the name may have changed. Users
     * can copy metadata, so several servers may have the run's mark.
     *
     * @param instance the node's instance in Ironic, or null
     */
    async find(mark: string, node: string, instance: string | null = null) {
      const all = await findAll(mark);
      const sure = all.find((one) => one.node === node || one.id === instance);
      if (sure !== undefined) return { ...sure, node };
      const unplaced = all.filter((one) => one.node === null);
      return unplaced.find((one) => unsure(one) === null) ?? unplaced[0] ?? null;
    },
    /** Other unscheduled servers with the mark, created by a delayed call. */
    twins: async (mark: string, id: string): Promise<readonly NovaServer[]> =>
      (await findAll(mark)).filter(
        (one) => one.id !== id && one.node === null && unsure(one) === null,
      ),
    async flavor(id: string): Promise<FlavorResources | null> {
      const body = await ask(session, `/flavors/${encodeURIComponent(id)}`);
      return body === null ? null : resourcesOf(objectOf(objectOf(body).flavor));
    },
    flavorId: (idOrName: string) => findFlavor(session, idOrName),
    /**
     * @returns null if this login may not list them
     * @source nova 26: api/openstack/compute/availability_zone.py; the default policy permits everyone
     */
    async zones(): Promise<ReadonlyMap<string, boolean> | null> {
      const body = await orNull(ask(session, "/os-availability-zone"), "N2I-E211");
      const { availabilityZoneInfo: all } = objectOf(body);
      if (!Array.isArray(all)) return null;
      const zones = all.filter(isObject).map(({ zoneName, zoneState }) => {
        return [String(zoneName), objectOf(zoneState).available === true] as const;
      });
      return new Map(zones);
    },
  };
}

/** Later versions also return actions of deleted servers. */
const LIVE_ONLY = "2.20";

/** The reason why a server may be a copy. Null if it is on its node or not yet scheduled. */
export function unsure({ id, node, seesNode, status }: NovaServer): string | null {
  return node !== null || (seesNode && (status === "BUILD" || status === "ERROR"))
    ? null
    : `server ${id} has the metadata ${MARK} of this run, but its node is not visible with these credentials: use credentials that can read the node. If the server is a copy, remove ${MARK} from its metadata`;
}

async function* listed(session: ServiceSession): AsyncGenerator<readonly JsonObject[]> {
  for (let query = ""; ; ) {
    const path = `/servers/detail${query}`;
    const { servers: page, servers_links: more } = objectOf(await ask(session, path));
    // A malformed list must not count as empty.
    if (!Array.isArray(page) || !page.every(isObject))
      throw new MigrationError("N2I-E212", `${session.url} lists an object that is not a server`);
    yield page;
    const last = page.at(-1)?.id;
    if (last === undefined || more === undefined) return;
    query = `?marker=${encodeURIComponent(String(last))}`;
  }
}

function serverOf(body: Json) {
  if (!isObject(body) || typeof body.id !== "string") return null;
  const text = (field: string): string | null => {
    const value = body[field];
    return typeof value === "string" && value !== "" ? value : null;
  };
  return {
    id: body.id,
    /** `ACTIVE`, `SHUTOFF`, `BUILD`, `ERROR`. */
    status: text("status") ?? "UNKNOWN",
    task: text("OS-EXT-STS:task_state"),
    /** Uuid of its node, if scheduled and visible to this login. */
    node: text(NODE),
    /** Nova omits the attribute if the login may not see it. */
    seesNode: NODE in body,
    fault: String(objectOf(body.fault).message ?? "no reason given"),
    /** Only an administrator can change or delete it. */
    locked: body.locked === true,
  };
}

/** Copied to `instance_info` by Nova's Ironic driver. @source nova 26: virt/ironic/patcher.py */
const CAPABILITY = /^capabilities:(.+)$/;

/** `resources:VCPU`, `trait:CUSTOM_RAID`, with a suffix for request groups. */
const SPEC = /^(resources|trait)(?:\d+|_[\w-]+)?:(.+)$/;

const GIB = 1024;

/**
 * @param flavor of Nova's API from 2.61, which includes extra specs
 * @source nova 26.0.0: scheduler/utils.py, ResourceRequest.from_request_spec
 */
export function resourcesOf(flavor: JsonObject): FlavorResources {
  const resources = new Map<string, number>();
  const traits = new Map<string, "required" | "forbidden">();
  const capabilities = new Map<string, string>();
  for (const [key, value] of Object.entries(objectOf(flavor.extra_specs))) {
    const [, capability] = CAPABILITY.exec(key) ?? [];
    if (capability !== undefined) capabilities.set(capability, String(value));
    const [, kind, name = ""] = SPEC.exec(key) ?? [];
    if (kind === "resources") resources.set(name, (resources.get(name) ?? 0) + Number(value));
    if (kind === "trait" && (value === "required" || value === "forbidden"))
      traits.set(name, value);
  }
  const [cpu, ram, root, ephemeral, swap] = [
    ...[flavor.vcpus, flavor.ram, flavor.disk],
    ...[flavor["OS-FLV-EXT-DATA:ephemeral"], flavor.swap],
  ].map((value) => Number(value ?? 0) || 0) as [number, number, number, number, number];
  const sizes = [
    ...(resources.has("PCPU") ? [] : [["VCPU", cpu] as const]),
    ["MEMORY_MB", ram] as const,
    ["DISK_GB", root + ephemeral + Math.ceil(swap / GIB)] as const,
  ];
  for (const [name, size] of sizes) if (!resources.has(name)) resources.set(name, size);
  return {
    ...{ resources: new Map([...resources].filter(([, amount]) => amount > 0)), traits },
    ...{ capabilities, ram, root },
  };
}

/** Finds a flavor by id or name, like Nova's client. Null if it does not exist. */
async function findFlavor(session: ServiceSession, ref: string): Promise<string | null> {
  const { id } = objectOf(
    objectOf(await ask(session, `/flavors/${encodeURIComponent(ref)}`)).flavor,
  );
  if (typeof id === "string") return id;
  const markers = new Set([""]);
  for (let marker = ""; ; ) {
    const body = await ask(session, `/flavors/detail?is_public=None${marker}`);
    const { flavors } = objectOf(body);
    const page = (Array.isArray(flavors) ? (flavors as readonly Json[]) : []).map(objectOf);
    const flavorId = page.find(({ name }) => name === ref)?.id;
    if (typeof flavorId === "string") return flavorId;
    marker = page.length === 0 ? "" : `&marker=${encodeURIComponent(String(page.at(-1)?.id))}`;
    // A service without paging returns the same page again.
    if (markers.has(marker)) return null;
    markers.add(marker);
  }
}
