import type { JsonObject } from "../../lib/json.ts";
import { customClass } from "../../migrate/flavors/rules/flavors.ts";
import { FAKE, notFree } from "../../model/ironic/fake-hardware.ts";
import type { ManageRequest, ServerView } from "../../model/ironic/manage.ts";
import { pause } from "../../systems/openstack/passing.ts";
import type { NovaClients } from "../nova-clients.ts";
import {
  type Act,
  isMade,
  isOut,
  type ManageChange,
  portsBound,
  recordOf,
  reservationOf,
} from "./manage-acts.ts";

export interface ServerMaking extends ManageChange {
  readonly clients: NovaClients;
  readonly request: ManageRequest;
  readonly view: ServerView;
  /** Neutron ports that more than one machine names. */
  readonly duplicates: ReadonlySet<string>;
  /** The replaced fields of the node. */
  before: JsonObject;
  /** The new server has the power state of its machine in Nova and Ironic. */
  isPowerSynced?: boolean;
  /** Nova was called more than once to create the server. */
  again?: boolean;
  over?: string;
  readonly begin: (act: Act) => Promise<void>;
}

/** Maintenance reason while the Nova server is created or deleted. */
export function maintenanceFor(server: string): string {
  return `nova2ironic gives it a server of Nova: ${server}`;
}

/** Whether the machine was started, and still has this run's mark or maintenance. */
export function marked(
  { acts, server }: Pick<ManageChange, "acts" | "server">,
  { node }: ServerView,
): boolean {
  const isReserved = acts.some(({ step }) => step === "hold");
  const marks = [...Object.values(node?.extra ?? {}), node?.maintenance_reason];
  return isReserved && (marks.includes(server) || marks.includes(maintenanceFor(server)));
}

/** Why only the mark may change: the node is in service without this run's server. Or null. */
export function anothers(
  change: Pick<ManageChange, "server" | "acts">,
  now: JsonObject,
): string | null {
  return isMade(change) && isForeign(change, now)
    ? `it no longer has server ${recordOf(change)}`
    : null;
}

/** Whether a node is in service with its server, on its own hardware. */
export function isInUse(
  change: Pick<ManageChange, "server" | "acts">,
  { driver, maintenance_reason: reason, instance_uuid: instance }: JsonObject,
): boolean {
  return (
    driver !== FAKE && reason !== maintenanceFor(change.server) && instance === recordOf(change)
  );
}

/** Records that the node is in service before anything reserves it. @returns whether it is */
export async function recordInUse(
  at: Pick<ServerMaking, "server" | "acts" | "begin">,
  now: JsonObject,
): Promise<boolean> {
  const isSo = isInUse(at, now);
  if (isSo && !isOut(at)) await at.begin({ step: "out" });
  return isSo;
}

/**
 * Whether a node is in service on its own hardware without its server, or its user deleted the
 * server. Before service, the server may be lost while the disk is intact.
 */
export function isForeign(
  change: Pick<ManageChange, "server" | "acts">,
  { driver, maintenance_reason: reason, instance_uuid: instance, ...node }: JsonObject,
): boolean {
  if (driver === FAKE || instance === recordOf(change)) return false;
  const isTornDown = instance === null && node.provision_state !== "active";
  return reason !== maintenanceFor(change.server) || (isOut(change) && isTornDown);
}

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
