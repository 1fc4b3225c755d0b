import type { JsonObject } from "../../lib/json.ts";
import { FAKE } from "../../model/ironic/fake-hardware.ts";
import type { SeenServer } from "../../model/ironic/manage.ts";
import { isMade, isOut, type ManageChange, recordOf } from "./manage-acts.ts";
import type { ServerMaking } from "./manage-nova-hands.ts";

/** Why a machine is in maintenance while it gets its server, or loses it. */
export function heldFor(server: string): string {
  return `nova2ironic gives it a server of Nova: ${server}`;
}

/** Whether it was begun, and nobody else has it: its mark is ours, or its maintenance. */
export function marked(
  { acts, server }: Pick<ManageChange, "acts" | "server">,
  { node }: SeenServer,
): boolean {
  const held = acts.some(({ step }) => step === "hold");
  const ours = [...Object.values(node?.extra ?? {}), node?.maintenance_reason];
  return held && (ours.includes(server) || ours.includes(heldFor(server)));
}

/**
 * Why a node is not this run's to act on, but for a mark that may be on it still: it had its server, and stands in service
 * without it by now, as somebody else's or as nobody's. Null: it is not so.
 */
export function anothers(
  change: Pick<ManageChange, "server" | "acts">,
  now: JsonObject,
): string | null {
  return isMade(change) && isForeign(change, now)
    ? `server ${recordOf(change)} is not on it any more`
    : null;
}

/** Whether a node is in service on hardware of its own, with its server, whoever ended its maintenance. */
export function isInUse(
  change: Pick<ManageChange, "server" | "acts">,
  { driver, maintenance_reason: reason, instance_uuid: instance }: JsonObject,
): boolean {
  return driver !== FAKE && reason !== heldFor(change.server) && instance === recordOf(change);
}

/**
 * Keeps that it is in service, whoever ended its maintenance: nothing may hold it before the journal has that.
 *
 * @returns whether it is so
 */
export async function keptIfInUse(
  at: Pick<ServerMaking, "server" | "acts" | "begin">,
  now: JsonObject,
): Promise<boolean> {
  const isSo = isInUse(at, now);
  if (isSo && !isOut(at)) await at.begin({ step: "out" });
  return isSo;
}

/**
 * Whether a node is in service on hardware of its own, without its server; or in our maintenance, since its user deleted
 * a server that he had. One that was never seen in service may have lost it on fake hardware, with its disk whole.
 */
export function isForeign(
  change: Pick<ManageChange, "server" | "acts">,
  { driver, maintenance_reason: reason, instance_uuid: instance, ...node }: JsonObject,
): boolean {
  if (driver === FAKE || instance === recordOf(change)) return false;
  const isTornDown = instance === null && node.provision_state !== "active";
  return reason !== heldFor(change.server) || (isOut(change) && isTornDown);
}
