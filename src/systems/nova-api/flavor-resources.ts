import { orNull } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import type { FlavorResources } from "../../model/ironic/manage.ts";
import { ask, type ServiceSession } from "../openstack/session.ts";

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

export async function readFlavor(
  session: ServiceSession,
  id: string,
): Promise<FlavorResources | null> {
  const body = await ask(session, `/flavors/${encodeURIComponent(id)}`);
  return body === null ? null : resourcesOf(objectOf(objectOf(body).flavor));
}

/** Finds a flavor by id or name, like Nova's client. Null if it does not exist. */
export async function findFlavor(session: ServiceSession, ref: string): Promise<string | null> {
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

/**
 * @returns null if this login may not list them
 * @throws MigrationError N2I-E210, N2I-E212
 * @source nova 26: api/openstack/compute/availability_zone.py; the default policy permits everyone
 */
export async function readZones(
  session: ServiceSession,
): Promise<ReadonlyMap<string, boolean> | null> {
  const body = await orNull(ask(session, "/os-availability-zone"), "N2I-E211");
  const { availabilityZoneInfo: all } = objectOf(body);
  if (!Array.isArray(all)) return null;
  return new Map(
    all
      .filter(isObject)
      .map(({ zoneName, zoneState }) => [String(zoneName), objectOf(zoneState).available === true]),
  );
}
