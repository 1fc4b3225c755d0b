import { type FakeHardware, infoChanged } from "../edge/ironic-rest/fake-hardware.ts";
import { inFlight } from "../edge/ironic-rest/pool.ts";
import type { NovaServer } from "../edge/nova-rest/servers.ts";
import { FAKE, notAsBefore } from "../model/fake-hardware.ts";
import type { JsonObject } from "../model/json.ts";
import { MANAGE } from "../model/manage.ts";
import type { ManagePart, ManagePosition } from "./manage.ts";
import { type Act, bindsOf, holdOf, type ManageChange, recordOf } from "./manage-acts.ts";
import {
  fakeAgain,
  heldFor,
  leftAt,
  marked,
  NONE,
  type NovaHands,
  SIZE,
  traitsIn,
} from "./manage-nova.ts";

/** Takes servers of Nova away again, on fake hardware: their machines run on, active as before. */
export function novaBackPart(hands: NovaHands, most: number): ManagePart {
  return {
    ...{ name: MANAGE, size: SIZE },
    inspect: (changes) => inFlight(changes, most, (change) => backOf(hands, change)),
    async perform(change, position, begin) {
      await begin();
      const why = await back(hands, change);
      return why === null
        ? { ...position, is: "after", ...NONE }
        : leftAt(await hands.look(change), why);
    },
  };
}

async function backOf(hands: NovaHands, change: ManageChange): Promise<ManagePosition> {
  const { server } = change;
  const seen = await hands.look(change);
  const { node, record } = seen;
  if (node === null)
    return record === null
      ? { is: "after", seen, ...NONE }
      : leftAt(seen, "Ironic has no such node", "gone");
  const open =
    record !== null ||
    marked(change, seen) ||
    node.maintenance_reason === heldFor(server) ||
    bindsOf(change).some(({ port }) => seen.ports?.get(port)?.device_id === recordOf(change));
  return { is: open ? "before" : "after", seen, ...NONE };
}

async function back(hands: NovaHands, change: ManageChange): Promise<string | null> {
  const { id, server, acts } = change;
  const before = holdOf(change)?.node;
  if (before === undefined) return "the journal does not say how it was";
  const { hardware } = hands;
  const reason = heldFor(server);
  const wasFaked = acts.some(({ step }) => step === "fake");
  if (wasFaked) {
    const why = await faked(hands, change, before);
    if (why !== null) return why;
  }
  const stays = await portsBack(hands, change);
  const released = await hardware.release(id, reason, (now) =>
    wasFaked ? notBack(before, now) : null,
  );
  if (released !== null && wasFaked) return staysFake(hands, id, reason, released);
  const why = released ?? (await hands.keeper.release(id, server, traitsIn(before)));
  return why ?? (stays.length === 0 ? null : stays.join("; "));
}

/** Why a node is not as it was before it had a server; null: it is. */
function notBack(before: JsonObject, now: JsonObject): string | null {
  const other = [...notAsBefore(before, now), ...infoChanged(before, now)];
  return nobodyOn(now) ?? (other.length === 0 ? null : other.join(", "));
}

/** Why a machine is not one that runs without a server; null: it is. */
function nobodyOn({ provision_state: state, instance_uuid: instance = null }: JsonObject) {
  if (state !== "active") return `it is ${String(state)}, not active`;
  return instance === null ? null : `it has instance ${String(instance)}`;
}

async function staysFake(
  hands: NovaHands,
  id: string,
  reason: string,
  why: string,
): Promise<string> {
  return `${await fakeAgain(hands, id, reason, why)}, in maintenance`;
}

/** From wherever it is, without its server, on fake hardware, and from there as it was. */
async function faked(
  hands: NovaHands,
  { id, server, acts }: ManageChange,
  before: JsonObject,
): Promise<string | null> {
  const { hardware, servers } = hands;
  const reason = heldFor(server);
  const now = await hardware.read(id);
  const own = await ownServer(hands, acts, server);
  const isFake = now.driver === FAKE;
  const against = objectionsBack(now, { before, own: own?.id ?? null, isFake });
  if (against !== null) {
    if (!isFake) return against;
    const held = await hardware.hold(id, reason);
    return `${against}; it stays on fake hardware${held === null ? ", in maintenance" : `: ${held}`}`;
  }
  const mark = await hands.keeper.hold(id, server);
  if ("why" in mark) return mark.why;
  const held = await hardware.hold(id, reason);
  if (held !== null) return held;
  const isInUse = own !== null || now.provision_state !== "active";
  const why =
    (isInUse ? await hardware.fake(id, reason) : null) ??
    (own === null ? null : await servers.remove(own.id)) ??
    (isInUse ? await active(hardware, id, before) : null) ??
    (isInUse || isFake ? await powered(hardware, id, before) : null);
  if (why !== null) return why;
  const may = async (now: JsonObject): Promise<string | null> => {
    const late = await ownServer(hands, acts, server);
    return late === null ? nobodyOn(now) : `server ${late.id} is there still`;
  };
  const other = await hardware.swap(id, before, { reason, exact: true, may });
  return other === null ? null : staysFake(hands, id, reason, other);
}

async function ownServer(
  { servers }: NovaHands,
  acts: readonly Act[],
  server: string,
): Promise<NovaServer | null> {
  const uuid = recordOf({ acts, server });
  if (uuid !== server) return servers.read(uuid);
  if (!acts.some(({ step }) => step === "record")) return null;
  return servers.find(server);
}

/** Why a machine is not to be touched by its way back; null: nothing stands against it. */
function objectionsBack(
  now: JsonObject,
  {
    before,
    own,
    isFake,
  }: { readonly before: JsonObject; readonly own: string | null; readonly isFake: boolean },
): string | null {
  const instance = now.instance_uuid ?? null;
  if (instance !== null && instance !== own)
    return `it has instance ${String(instance)}, which this run did not make`;
  if (now.protected === true) return "it is protected: unprotect it first";
  const other = isFake ? [] : notAsBefore(before, now);
  return other.length === 0
    ? null
    : `it has changed since: ${other.join(", ")}; change it back first`;
}

/** As on or off as it was, in Ironic's book; said only where it is not. */
async function powered(
  hardware: FakeHardware,
  id: string,
  { power_state: was = null }: JsonObject,
): Promise<string | null> {
  const { power_state: is = null, target_power_state: goal = null } = await hardware.read(id);
  return is === was && goal === null ? null : hardware.power(id, String(was));
}

/** Active again, on fake hardware: what was deleted there is adopted there. */
async function active(
  hardware: FakeHardware,
  id: string,
  before: JsonObject,
): Promise<string | null> {
  const { provision_state: state } = await hardware.read(id);
  if (state === "active") return null;
  const freed =
    state === "manageable" || state === "adopt failed" || state === "adopting"
      ? null
      : await hardware.bring(id, "deleted");
  return (
    freed ??
    (await hardware.inform(id, before)) ??
    (state === "manageable" || state === "adopting" ? null : await hardware.bring(id, "manage")) ??
    (await hardware.bring(id, "adopt"))
  );
}

/** Gives ports back what they were, as far as nobody else has them; says whose the others are. */
async function portsBack(
  { network }: NovaHands,
  { acts, server }: ManageChange,
): Promise<readonly string[]> {
  const own = recordOf({ acts, server });
  const stays: string[] = [];
  for (const { port, device_id, device_owner, more } of bindsOf({ acts })) {
    const neutron = await network();
    if ((await neutron.whole(port)) === null) continue;
    const was = { device_id, device_owner, ...more };
    const why = await neutron.restore(port, was, ["", own, device_id]);
    if (why !== null) stays.push(why);
  }
  return stays;
}
