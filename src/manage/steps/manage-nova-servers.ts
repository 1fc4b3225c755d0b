import type { JsonObject } from "../../lib/json.ts";
import { customClass } from "../../migrate/flavors/rules/flavors.ts";
import { unsafe } from "../../model/ironic/fake-hardware.ts";
import type { NovaServer } from "../../systems/nova-api/seen-servers.ts";
import { pause } from "../../systems/openstack/passing.ts";
import { type ManageChange, recordOf } from "./manage-acts.ts";
import { PROTECTED, unsureOf } from "./manage-nova-against.ts";
import { MOST_LOOKS } from "./manage-nova-create.ts";
import type { NovaHands, ServerMaking } from "./manage-nova-hands.ts";
import { portsAgainst } from "./manage-nova-ports.ts";

export type Back = ManageChange & Pick<ServerMaking, "hands" | "before" | "begin">;

/** nova-compute may execute a request of Nova days later. */
export const LEAVE =
  "it stays on fake hardware, in maintenance: leave its driver alone until rollback has ended, or Nova may wipe it";

export function keptWith(own: NovaServer | null): string {
  return `it keeps its own hardware${own === null ? "" : " and its server"}, in maintenance`;
}

export async function serversGone(
  hands: NovaHands,
  change: ManageChange,
  own: NovaServer | null,
): Promise<string | null> {
  const { hardware, servers } = hands;
  const mayEnd = (one: NovaServer) => async (): Promise<string | null> => {
    const now = await hardware.read(change.id);
    const real = unsafe(now);
    if (real.length > 0) return `it is not completely on fake hardware: ${real.join(", ")}`;
    // Ironic refuses to undeploy a protected node, and Nova sets the server to ERROR.
    return now.protected === true ? PROTECTED : portsAgainst(hands, change, one);
  };
  let next = own ?? (await byWord(hands, change));
  for (let tries = 0; next !== null && tries < MOST_SERVERS; tries += 1) {
    const why = unsureOf(change, next) ?? (await servers.remove(next.id, mayEnd(next)));
    if (why !== null) return why;
    next = await byWord(hands, change);
  }
  return next === null ? null : `server ${next.id} still exists`;
}

/** Otherwise nova-compute would deploy to the node after its own driver is restored. */
export async function withheld(
  { offers }: NovaHands,
  { id, acts }: ManageChange,
  { resource_class: name }: JsonObject,
): Promise<string | null> {
  if (!acts.some(({ step }) => step === "record")) return null;
  let claims: readonly string[] = [];
  for (let tries = 0; tries < MOST_LOOKS; tries += 1) {
    const offer = await offers.of(id, customClass(String(name)));
    claims = await offers.claims(id);
    const isOffered = offer !== null && offer.reserved < offer.total;
    if (!isOffered && claims.length === 0) return null;
    await pause(tries);
  }
  return claims.length > 0
    ? `Placement has allocations of it for ${claims.join(", ")}`
    : "Nova still offers it: its resource tracker does not reserve it. Check that nova-compute runs";
}

/** More than the repeated and delayed calls of one POST. */
const MOST_SERVERS = 20;

/** Its server, or a server of a delayed POST with the same mark. */
export async function ownServer(
  hands: NovaHands,
  change: ManageChange,
  { instance_uuid: instance = null }: JsonObject,
): Promise<NovaServer | null> {
  const uuid = recordOf(change);
  const made = uuid === change.server ? null : await hands.servers.read(uuid);
  return made ?? byWord(hands, change, instance === null ? null : String(instance));
}

/** A server on this node with the mark, even if its uuid is unknown. */
export async function byWord(
  { servers }: NovaHands,
  { id, server, acts }: ManageChange,
  instance: string | null = null,
): Promise<NovaServer | null> {
  return acts.some(({ step }) => step === "record") ? servers.find(server, id, instance) : null;
}
