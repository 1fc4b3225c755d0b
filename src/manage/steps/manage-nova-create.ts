import type { JsonObject } from "../../lib/json.ts";
import { customClass } from "../../migrate/flavors/rules/flavors.ts";
import { notFree } from "../../model/ironic/fake-hardware.ts";
import { pause } from "../../systems/openstack/passing.ts";
import type { NovaClients } from "../nova-clients.ts";
import { isMade, portsBound, reservationOf } from "./manage-acts.ts";
import { maintenanceFor, type ServerMaking } from "./manage-nova-marks.ts";

/** Reads of Placement: about 15 minutes, more than Nova's resource tracker needs. */
export const MOST_READS = 450;

/** Ends maintenance, and waits until Nova's resource tracker offers the node. */
export async function offered(at: ServerMaking, isNew: boolean): Promise<string | null> {
  const { clients, id, view, server } = at;
  if (!isNew && (await clients.servers.find(server, id)) !== null) return null;
  const reason = await clients.hardware.release(id, maintenanceFor(server), notFree);
  if (reason !== null) return reason;
  const inventory = customClass(view.node?.resource_class ?? "");
  for (let tries = 0; tries < MOST_READS; tries += 1) {
    const offer = await clients.offers.of(id, inventory);
    if (offer !== null && offer.total > 0 && offer.reserved === 0) return null;
    await pause(tries);
  }
  return "Nova does not offer it: its resource tracker keeps it reserved. Check that nova-compute runs";
}

export async function create(
  at: ServerMaking,
  isNew: boolean,
  passed: (() => void) | null,
): Promise<string | null> {
  const { clients, id, server, request } = at;
  const ports = portsBound(at);
  const may = async () => notFree(await clients.hardware.read(id));
  const made = await clients.servers.create(clients.requestedOf(request, id, at.before, ports), {
    mark: server,
    isNew,
    may,
  });
  if (typeof made === "string") return made;
  if ("over" in made) {
    at.over = made.over;
    return made.over;
  }
  at.again = made.again === true;
  await at.begin({ step: "made", uuid: made.id });
  if (passed !== null && (await taken(clients, id, made.id))) passed();
  const now = await clients.servers.built(made);
  if (now === null) return `server ${made.id} was deleted`;
  if (now.status === "ERROR") return `Nova cannot create its server: ${now.fault}`;
  if (!/^(ACTIVE|SHUTOFF)$/.test(now.status)) return `server ${made.id} is ${now.status}`;
  const node = await clients.hardware.read(id);
  at.isPowerSynced = isAsMachine(at.before, node, now.status);
  return node.instance_uuid === made.id
    ? null
    : `server ${made.id} is not on it: instance_uuid is ${String(node.instance_uuid)}`;
}

/** Reads of a node after creation, about ten seconds. */
const FEW_READS = 10;

const DEPLOYED = /^(deploying|wait call-back|active|deploy failed)$/;

/**
 * Waits until nova-compute calls Ironic, because its client has then negotiated a version.
 *
 * @source nova 26: virt/ironic/driver.py, spawn: node.validate comes before, by the same client
 */
async function taken({ hardware }: NovaClients, id: string, server: string): Promise<boolean> {
  for (let tries = 0; tries < FEW_READS; tries += 1) {
    const { provision_state: state, instance_uuid } = await hardware.read(id);
    if (instance_uuid === server && DEPLOYED.test(String(state))) return true;
    await pause(tries);
  }
  return false;
}

export function isAsMachine(before: JsonObject, node: JsonObject, status: string): boolean {
  const { power_state: is, target_power_state: goal = null } = node;
  return is === before.power_state && goal === null && status === statusFor(before);
}

export function statusFor(before: JsonObject): "ACTIVE" | "SHUTOFF" {
  return before.power_state === "power on" ? "ACTIVE" : "SHUTOFF";
}

/** A server that was started, or is to be. */
type StartedServer = Omit<ServerMaking, "duplicates" | "begin">;

export function differsFromStart(at: StartedServer): string | null {
  return otherWish(at) ?? otherPorts(at);
}

/** Why the server would lack ports, or null, also before binding and after creation. */
export function otherPorts(at: StartedServer): string | null {
  if (isMade(at) || !at.acts.some(({ step }) => step === "fake")) return null;
  const bound = portsBound(at);
  const missing = at.clients.portsOf(at.view).filter((port) => !bound.includes(port));
  return missing.length === 0
    ? null
    : `its server would be created without port ${missing.join(", ")}: run rollback, then manage it with ports that exist`;
}

/** Flavor and image for the journal. The image may be the node's own. */
export function madeWith({ clients, id, request, before }: StartedServer) {
  const { flavor, image } = clients.requestedOf(request, id, before, []);
  return { flavor, ...(image !== null && { image }) };
}

/** Why the flavor or image differs from the start, or null. Also null after creation. */
function otherWish(at: StartedServer): string | null {
  const { flavor: first, image: reservedImage } = reservationOf(at) ?? {};
  if (first === undefined || isMade(at)) return null;
  const { flavor, image } = madeWith(at);
  const other = [
    ...(first === flavor ? [] : [`flavor ${first}`]),
    ...(reservedImage === image ? [] : [`image ${reservedImage ?? "none"}`]),
  ];
  return other.length === 0
    ? null
    : `it was started with ${other.join(" and ")}: pass the same values, or it is rolled back`;
}
