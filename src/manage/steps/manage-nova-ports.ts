import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../lib/json.ts";
import type { ServerView } from "../../model/ironic/manage.ts";
import type { NovaServer } from "../../systems/nova-api/server-state.ts";
import type { NovaClients } from "../nova-clients.ts";
import {
  type Bind,
  bindsOf,
  isFinished,
  type ManageChange,
  portsBound,
  recordOf,
  unseen,
} from "./manage-acts.ts";
import type { ServerMaking } from "./manage-nova-create.ts";

type PortClients = Pick<NovaClients, "network">;

/**
 * Saves the fields that Nova overwrites, and clears those for which Nova refuses a port.
 *
 * @param binds the first saved values of each port in earlier runs
 * @returns null, or why a port is not free
 * @source nova 26: network/neutron.py, _validate_requested_port_ids (PortInUse, PortNotUsableDNS)
 */
export async function portsFreed(
  { clients, id: node, begin }: Pick<ServerMaking, "clients" | "id" | "begin">,
  ids: readonly string[],
  binds: readonly Bind[],
): Promise<string | null> {
  for (const id of ids) {
    const neutron = await clients.network();
    const port = await neutron.details(id);
    if (port === null) return `port ${id} is not in Neutron`;
    const device_id = String(port.device_id ?? "");
    const device_owner = String(port.device_owner ?? "");
    // A port that another device now has is kept there.
    const deviceIds = ["", node, binds.find((bind) => bind.port === id)?.device_id];
    if (!deviceIds.includes(device_id))
      return `port ${id} belongs to ${device_owner || "device"} ${device_id} now`;
    const names = ["binding:host_id", "binding:profile", "dns_name"].filter((one) => one in port);
    const more = Object.fromEntries(names.map((one) => [one, port[one] ?? null]));
    const bound = isBound(port) && { bound: true as const };
    await begin({ step: "bind", port: id, device_id, device_owner, more, ...bound });
    const hasDnsName = (port.dns_name ?? "") !== "";
    if (device_id === "" && !hasDnsName) continue;
    const free = { device_id: "", device_owner: "", ...(hasDnsName && { dns_name: "" }) };
    const reason = await neutron.restore(id, free, [device_id, ""]);
    if (reason !== null) return reason;
  }
  return null;
}

/** Whether the port still has this server and is unbound. */
export async function requiresBinding(
  { network }: PortClients,
  { port }: Bind,
  server: string,
): Promise<boolean> {
  const now = await (await network()).details(port);
  return now?.device_id === server && !isBound(now);
}

function isBound(port: JsonObject): boolean {
  const { "binding:vif_type": type = "unbound" } = port;
  return type !== null && type !== "unbound" && type !== "binding_failed";
}

/** Restores a port of one of these devices. @returns null, or why it differs */
export async function portRestored(
  { network }: PortClients,
  { port, bound }: Bind,
  fields: JsonObject,
  devices: readonly string[],
): Promise<string | null> {
  const neutron = await network();
  const reason = await neutron.restore(port, fields, devices);
  if (reason !== null || bound !== true) return reason;
  let now = await neutron.details(port);
  if (now !== null && "binding:vif_type" in now && !isBound(now)) {
    // Neutron binds only on a change. The agent may have been down at the last change.
    const again =
      (await neutron.restore(port, { "binding:host_id": "" }, devices)) ??
      (await neutron.restore(port, fields, devices));
    if (again !== null) return again;
    now = await neutron.details(port);
  }
  if (now === null || isBound(now)) return null;
  const type = String(now["binding:vif_type"]);
  return `Neutron does not bind port ${port} again: binding:vif_type is ${type}. Check that its agent runs`;
}

/** Saves changes by the user or Ironic while in service, to restore them later. */
export async function portsChanged(
  { network }: PortClients,
  change: ManageChange,
  begin: (bind: Bind) => Promise<void>,
): Promise<void> {
  for (const { bound = false, more = {}, ...bind } of bindsOf(change)) {
    const now = await (await network()).details(bind.port);
    if (now?.device_id !== recordOf(change)) continue;
    const is = Object.fromEntries(Object.keys(more).map((one) => [one, now[one] ?? null]));
    if (!isDeepStrictEqual(is, more) || isBound(now) !== bound)
      await begin({ ...bind, step: "changed", more: is, ...(isBound(now) && { bound: true }) });
  }
}

/** Whether a port without a device is not restored, or a port is missing. */
export async function portsOpen(
  { network }: PortClients,
  change: Pick<ManageChange, "acts">,
): Promise<boolean> {
  for (const { port, device_id, more = {} } of bindsOf(change)) {
    const now = await (await network()).details(port);
    if (now === null) return true;
    const was = Object.entries({ device_id, ...more });
    const other = was.some(([name, value]) => !isDeepStrictEqual(now[name] ?? "", value ?? ""));
    if (other && (now.device_id ?? "") === "") return true;
  }
  return false;
}

/** Restores ports that no other device has. Returns the reasons for other ports. */
export async function portsBack(
  clients: PortClients,
  { acts, server }: Pick<ManageChange, "acts" | "server">,
): Promise<readonly string[]> {
  const record = recordOf({ acts, server });
  const failures: string[] = [];
  for (const bind of bindsOf({ acts })) {
    const { port, device_id, device_owner, more } = bind;
    if ((await (await clients.network()).details(port)) === null) {
      failures.push(unseen(port));
      continue;
    }
    const was = { device_id, device_owner, ...more };
    const reason = await portRestored(clients, bind, was, ["", record, device_id]);
    if (reason !== null) failures.push(reason);
  }
  return failures;
}

/**
 * Ports added later: Nova deletes its own, unbinds others, and fake hardware keeps VIFs attached.
 *
 * @source nova 26: network/neutron.py, deallocate_for_instance; ironic 21.4: network/noop.py,
 * vif_detach
 */
export async function portsAgainst(
  { servers }: Pick<NovaClients, "servers">,
  change: ManageChange,
  { id }: Pick<NovaServer, "id">,
): Promise<string | null> {
  const bound = new Set(portsBound(change));
  const since = (await servers.portsOn(id)).filter((port) => !bound.has(port));
  return since.length === 0
    ? null
    : `server ${id} now has port ${since.join(", ")}: detach it first (openstack server remove port ${id} PORT)`;
}

/** Ports that the user has detached, which would stay detached. */
export function detachedPorts(
  change: ManageChange,
  { ports }: ServerView,
  { id }: Pick<NovaServer, "id">,
): string | null {
  const since = bindsOf(change).flatMap(({ port, device_id: first }) => {
    const { device_id: device = id } = ports?.get(port) ?? {};
    if (device === "") return [port];
    // Already restored.
    return device === id || device === first ? [] : [`${port} (device ${device} has it)`];
  });
  return since.length === 0 || !isFinished(change)
    ? null
    : `server ${id} no longer has port ${since.join(", ")}: attach it first (openstack server add port ${id} PORT)`;
}
