import type { NetworkService } from "../edge/neutron/ports.ts";
import type { JsonObject } from "../model/json.ts";
import { type Act, bindsOf, type ManageChange, recordOf } from "./manage-acts.ts";

interface Hands {
  readonly network: () => Promise<Pick<NetworkService, "whole" | "restore">>;
}

type Bind = Extract<Act, { readonly step: "bind" }>;

/**
 * Keeps of ports what Nova writes over, and takes their device off: Nova takes none that has one.
 *
 * @returns null, or why one is not free
 */
export async function portsFreed(
  { network }: Hands,
  ids: readonly string[],
  begin: (bind: Bind) => Promise<void>,
): Promise<string | null> {
  for (const id of ids) {
    const neutron = await network();
    const port = await neutron.whole(id);
    if (port === null) return `port ${id} is not in Neutron`;
    const device_id = String(port.device_id ?? "");
    const device_owner = String(port.device_owner ?? "");
    const names = ["binding:host_id", "binding:profile", "dns_name"].filter((one) => one in port);
    const more = Object.fromEntries(names.map((one) => [one, port[one] ?? null]));
    const bound = isBound(port) && { bound: true };
    await begin({ step: "bind", port: id, device_id, device_owner, more, ...bound });
    if (device_id === "") continue;
    const free = { device_id: "", device_owner: "" };
    const why = await neutron.restore(id, free, [device_id, ""]);
    if (why !== null) return why;
  }
  return null;
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
  const now = await neutron.whole(port);
  if (now === null || isBound(now)) return null;
  const type = String(now["binding:vif_type"]);
  return `Neutron does not bind port ${port} again: binding:vif_type is ${type}; see that its agent runs`;
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
    if ((await (await hands.network()).whole(port)) === null) continue;
    const was = { device_id, device_owner, ...more };
    const why = await portRestored(hands, bind, was, ["", own, device_id]);
    if (why !== null) stays.push(why);
  }
  return stays;
}
