import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../lib/json.ts";
import type { SeenServer } from "../../model/ironic/manage.ts";
import type { NovaServer } from "../../systems/nova-api/seen-servers.ts";
import type { NovaServers } from "../../systems/nova-api/servers.ts";
import type { NetworkService } from "../../systems/openstack/neutron-ports.ts";
import {
  type Bind,
  bindsOf,
  isFinished,
  type ManageChange,
  recordOf,
  unseen,
} from "./manage-acts.ts";

interface Hands {
  readonly network: () => Promise<Pick<NetworkService, "whole" | "restore">>;
}

interface PortsWanted {
  readonly ids: readonly string[];
  /** Uuid of the node. */
  readonly node: string;
  /** What a run before kept of them, the first of each. */
  readonly known: readonly Bind[];
}

/**
 * Keeps of ports what Nova writes over, and takes their device and name off: Nova takes none that has a device, and none
 * whose name is not its server's.
 *
 * @returns null, or why one is not free
 * @source nova 26: network/neutron.py, _validate_requested_port_ids (PortInUse, PortNotUsableDNS)
 */
export async function portsFreed(
  { network }: Hands,
  { ids, node, known }: PortsWanted,
  begin: (bind: Bind) => Promise<void>,
): Promise<string | null> {
  for (const id of ids) {
    const neutron = await network();
    const port = await neutron.whole(id);
    if (port === null) return `port ${id} is not in Neutron`;
    const device_id = String(port.device_id ?? "");
    const device_owner = String(port.device_owner ?? "");
    // Whoever got it since it was judged, or since a run before freed it, keeps it.
    const ours = ["", node, known.find((bind) => bind.port === id)?.device_id];
    if (!ours.includes(device_id))
      return `port ${id} belongs to ${device_owner || "device"} ${device_id} now`;
    const names = ["binding:host_id", "binding:profile", "dns_name"].filter((one) => one in port);
    const more = Object.fromEntries(names.map((one) => [one, port[one] ?? null]));
    const bound = isBound(port) && { bound: true };
    await begin({ step: "bind", port: id, device_id, device_owner, more, ...bound });
    const isNamed = (port.dns_name ?? "") !== "";
    if (device_id === "" && !isNamed) continue;
    const free = { device_id: "", device_owner: "", ...(isNamed && { dns_name: "" }) };
    const why = await neutron.restore(id, free, [device_id, ""]);
    if (why !== null) return why;
  }
  return null;
}

/** Whether a port of the journal is this server's still, and on no wire. */
export async function wantsBinding(
  { network }: Hands,
  { port }: Bind,
  server: string,
): Promise<boolean> {
  const now = await (await network()).whole(port);
  return now?.device_id === server && !isBound(now);
}

/** Whether Neutron has it on some wire. */
function isBound(port: JsonObject): boolean {
  const { "binding:vif_type": type = "unbound" } = port;
  return type !== null && type !== "unbound" && type !== "binding_failed";
}

/**
 * Writes of a port what it was, only while one of these devices has it.
 *
 * @returns null, or why it is not as it was
 */
export async function portRestored(
  { network }: Hands,
  { port, bound }: Bind,
  fields: JsonObject,
  devices: readonly string[],
): Promise<string | null> {
  const neutron = await network();
  const why = await neutron.restore(port, fields, devices);
  if (why !== null || bound !== true) return why;
  let now = await neutron.whole(port);
  if (now !== null && "binding:vif_type" in now && !isBound(now)) {
    // It binds at a change alone, and may have tried while its agent was away.
    const again =
      (await neutron.restore(port, { "binding:host_id": "" }, devices)) ??
      (await neutron.restore(port, fields, devices));
    if (again !== null) return again;
    now = await neutron.whole(port);
  }
  if (now === null || isBound(now)) return null;
  const type = String(now["binding:vif_type"]);
  return `Neutron does not bind port ${port} again: binding:vif_type is ${type}; see that its agent runs`;
}

/** Keeps of ports of a server in service what its user, or Ironic, changed since: once it is gone they are to be so. */
export async function portsChanged(
  { network }: Hands,
  change: ManageChange,
  begin: (bind: Bind) => Promise<void>,
): Promise<void> {
  for (const { bound = false, more = {}, ...bind } of bindsOf(change)) {
    const now = await (await network()).whole(bind.port);
    if (now?.device_id !== recordOf(change)) continue;
    const is = Object.fromEntries(Object.keys(more).map((one) => [one, now[one] ?? null]));
    if (!isDeepStrictEqual(is, more) || isBound(now) !== bound)
      await begin({ ...bind, step: "changed", more: is, ...(isBound(now) && { bound: true }) });
  }
}

/** Whether a port of the journal is nobody's and not as it was, or is not seen. */
export async function portsOpen(
  { network }: Hands,
  change: Pick<ManageChange, "acts">,
): Promise<boolean> {
  for (const { port, device_id, more = {} } of bindsOf(change)) {
    const now = await (await network()).whole(port);
    if (now === null) return true;
    const was = Object.entries({ device_id, ...more });
    const other = was.some(([name, value]) => !isDeepStrictEqual(now[name] ?? "", value ?? ""));
    if (other && (now.device_id ?? "") === "") return true;
  }
  return false;
}

/** Gives ports back what they were, as far as nobody else has them; says whose the others are. */
export async function portsBack(
  hands: Hands,
  { acts, server }: Pick<ManageChange, "acts" | "server">,
): Promise<readonly string[]> {
  const own = recordOf({ acts, server });
  const stays: string[] = [];
  for (const bind of bindsOf({ acts })) {
    const { port, device_id, device_owner, more } = bind;
    if ((await (await hands.network()).whole(port)) === null) {
      stays.push(unseen(port));
      continue;
    }
    const was = { device_id, device_owner, ...more };
    const why = await portRestored(hands, bind, was, ["", own, device_id]);
    if (why !== null) stays.push(why);
  }
  return stays;
}

/**
 * Ports that a server was given since: Nova deletes those that it made, cuts the others, and on fake hardware no card
 * lets go of them.
 *
 * @source nova 26: network/neutron.py, deallocate_for_instance; ironic 21.4: network/noop.py, vif_detach
 */
export async function portsAgainst(
  { servers }: { readonly servers: Pick<NovaServers, "portsOn"> },
  change: ManageChange,
  { id }: Pick<NovaServer, "id">,
): Promise<string | null> {
  const own = new Set(bindsOf(change).map(({ port }) => port));
  const since = (await servers.portsOn(id)).filter((port) => !own.has(port));
  return since.length === 0
    ? null
    : `server ${id} has port ${since.join(", ")} since: detach it first (openstack server remove port ${id} PORT)`;
}

/** Ports that its user took from a server since: their cards are without them, and would stay so. */
export function portsLeft(
  change: ManageChange,
  { ports }: SeenServer,
  { id }: Pick<NovaServer, "id">,
): string | null {
  const since = bindsOf(change).flatMap(({ port, device_id: first }) => {
    const { device_id: device = id } = ports?.get(port) ?? {};
    if (device === "") return [port];
    // One that is back already is nobody's to wait for.
    return device === id || device === first ? [] : [`${port} (device ${device} has it)`];
  });
  return since.length === 0 || !isFinished(change)
    ? null
    : `server ${id} no longer has port ${since.join(", ")}: attach it first (openstack server add port ${id} PORT)`;
}
