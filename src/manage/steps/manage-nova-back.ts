import type { JsonObject } from "../../lib/json.ts";
import { FAKE, notAsBefore } from "../../model/ironic/fake-hardware.ts";
import { MANAGE, type ServerView } from "../../model/ironic/manage.ts";
import { type FakeHardware, infoChanges } from "../../systems/ironic-api/fake-hardware.ts";
import { inFlight } from "../../systems/ironic-api/pool.ts";
import { type NovaServer, unsure } from "../../systems/nova-api/server-state.ts";
import type { NovaClients } from "../nova-clients.ts";
import type { ManagePart } from "./manage.ts";
import {
  bindsOf,
  isHanded,
  isMade,
  isPorted,
  type ManageChange,
  recording,
  recordOf,
  reservationOf,
  traitsIn,
  unseenNode,
} from "./manage-acts.ts";
import { lastState, SIZE } from "./manage-nova.ts";
import {
  anothers,
  isForeign,
  isInUse,
  maintenanceFor,
  marked,
  recordInUse,
} from "./manage-nova-marks.ts";
import {
  detachedPorts,
  portsAgainst,
  portsBack,
  portsChanged,
  portsOpen,
} from "./manage-nova-ports.ts";
import {
  type Back,
  rejectionsBack,
  serverByMark,
  serversDeleted,
  withheld,
} from "./manage-nova-servers.ts";
import { fakeAgain, nobodys, novaWould } from "./manage-nova-steps.ts";
import { type ManagePosition, NONE, stays } from "./manage-positions.ts";

/** @param unasked true without a rollback command: servers that may be in use are kept */
export function novaBackPart(hands: NovaClients, most: number, unasked = false): ManagePart {
  return {
    ...{ name: MANAGE, size: SIZE, keepsBack: true },
    inspect: (changes) => inFlight(changes, most, (change) => backOf(hands, change, unasked)),
    async perform(change, position, begin) {
      // The position may be minutes old.
      const { seen } = position;
      if (unasked && seen.record !== null)
        if (isServing(change, seen, await hands.hardware.read(change.id)))
          return { ...stays(seen, IN_USE), inService: true };
      await begin();
      const making = recording(change.acts, begin);
      const why = await back(hands, { ...change, ...making }, seen);
      if (why === null) return { ...position, is: "after", ...NONE };
      const left = stays(await lastState(hands, change, seen), why);
      return why === MEANWHILE ? { ...left, inService: true } : left;
    },
  };
}

async function backOf(
  hands: NovaClients,
  change: ManageChange,
  unasked: boolean,
): Promise<ManagePosition> {
  const { id, server } = change;
  const seen = await hands.look(change);
  const { node, record } = seen;
  if (node === null) return stays(seen, unseenNode(id), "gone");
  const isOwned =
    record !== null ||
    // The server was deleted, or the login does not see it.
    node.instance_uuid === recordOf(change) ||
    marked(change, seen) ||
    node.maintenance_reason === maintenanceFor(server) ||
    bindsOf(change).some(({ port }) => seen.ports?.get(port)?.device_id === recordOf(change));
  if (isOwned && !unasked) return { is: "before", seen, ...NONE };
  const now = await hands.hardware.read(id);
  if (unasked && isServing(change, seen, now)) return { ...stays(seen, IN_USE), inService: true };
  // It may still have the driver of this run without the mark.
  const isFake = now.driver === FAKE && change.acts.some(({ step }) => step === "fake");
  const open = isOwned || isFake || (await requiredPorts(hands, change, now));
  return { is: open ? "before" : "after", seen, ...NONE };
}

const IN_USE =
  "its user may be using its server: restore its former state and run the same command, or run rollback, which deletes the server";

const MEANWHILE = `its maintenance was ended during the rollback, and ${IN_USE}`;

/** Whether nothing of the node belongs to this run except a mark. */
function isPortsAlone(change: ManageChange, seen: ServerView, now: JsonObject): boolean {
  if (seen.record !== null) return false;
  // The node may have the server of unknown uuid.
  if (marked(change, seen) && !isMade(change)) return false;
  return isForeign(change, now);
}

/** Whether the server may be in use: own hardware, and it was or is in service. */
function isServing(change: ManageChange, { record }: ServerView, now: JsonObject): boolean {
  return record !== null && now.driver !== FAKE && (isHanded(change) || isInUse(change, now));
}

/** Whether to restore its ports. Not if the node has another server or was torn down. */
function requiresPorts(change: ManageChange, now: JsonObject): boolean {
  return !isMade(change) || !isForeign(change, now) || reasonNotFree(now) === null;
}

/** After completion, an unbound port is the user's choice. */
async function requiredPorts(
  hands: NovaClients,
  change: ManageChange,
  now: JsonObject,
): Promise<boolean> {
  return change.open === true && requiresPorts(change, now) && (await portsOpen(hands, change));
}

async function back(
  hands: NovaClients,
  change: ManageChange & Pick<Back, "begin">,
  seen: ServerView,
): Promise<string | null> {
  const { id, server } = change;
  const before = reservationOf(change)?.node;
  if (before === undefined) return "the journal does not have its former state";
  const { hardware } = hands;
  const reason = maintenanceFor(server);
  const now = await hardware.read(id);
  if (isPortsAlone(change, seen, now)) {
    const unrestored = requiresPorts(change, now) ? await portsBack(hands, change) : [];
    const may = (is: JsonObject) => (isForeign(change, is) ? null : "it changed in the meantime");
    const ended = await hardware.release(id, reason, may);
    // Empty traits now belong to the node's new owner.
    return whysOf(ended ?? (await hands.recordClient.release(id, server, [])), unrestored);
  }
  const at: Back = { ...change, hands, before };
  const wasFaked = change.acts.some(({ step }) => step === "fake");
  if (wasFaked) {
    const why = await faked(at, now);
    if (why !== null) return why;
  }
  const unrestored = await portsBack(hands, change);
  const released = await hardware.release(id, reason, (now) =>
    wasFaked ? notBack(before, now) : null,
  );
  if (released !== null && wasFaked) return keepFake(at, released);
  const why = released ?? (await hands.recordClient.release(id, server, traitsIn(before)));
  return whysOf(why, unrestored);
}

function whysOf(why: string | null, more: readonly string[]): string | null {
  const all = [...(why === null ? [] : [why]), ...more];
  return all.length === 0 ? null : all.join("; ");
}

function notBack(before: JsonObject, now: JsonObject): string | null {
  const other = [...notAsBefore(before, now), ...infoChanges(before, now, true)];
  return reasonNotFree(now) ?? (other.length === 0 ? null : other.join(", "));
}

function reasonNotFree({ provision_state: state, instance_uuid: instance = null }: JsonObject) {
  if (state !== "active") return `it is ${String(state)}, not active`;
  return instance === null ? null : `it has instance ${String(instance)}`;
}

async function keepFake(at: Back, why: string): Promise<string> {
  return `${await fakeAgain(at, why)}, in maintenance`;
}

async function faked(at: Back, found: JsonObject): Promise<string | null> {
  const { hands, id, server, before, begin } = at;
  const { hardware } = hands;
  const reason = maintenanceFor(server);
  let now = found;
  let own = await serverOfRun(hands, at, now);
  // nova-compute completes a build even if the server is deleted, so wait for its result.
  if (own?.status === "BUILD" && now.driver === FAKE) {
    await hands.servers.still(own.id);
    now = await hardware.read(id);
    own = await serverOfRun(hands, at, now);
  }
  const isFake = now.driver === FAKE;
  const against =
    (await rejectionsBack(at, now, own)) ??
    (own === null ? null : await portsAgainst(hands, at, own)) ??
    // The position may be minutes old.
    (own === null || isFake ? null : detachedPorts(at, await hands.look(at), own));
  if (against !== null) {
    if (!isFake) return against;
    // Another run may have it.
    const mark = await hands.recordClient.hold(id, server);
    if ("why" in mark) return `${against}; ${mark.why}`;
    const held = await hardware.hold(id, reason, ({ driver }) =>
      driver === FAKE ? null : "it now has its own hardware",
    );
    return `${against}; ${held === null ? "it stays on fake hardware, in maintenance" : `it is not held, ${held}`}`;
  }
  // Saves the port changes of a server that was in service.
  if (own !== null && !isFake && (isPorted(at) || at.open === false))
    await portsChanged(hands, at, begin);
  const mark = await hands.recordClient.hold(id, server);
  if ("why" in mark) return mark.why;
  const wasInUse = isInUse(at, now);
  const held = await hardware.hold(id, reason, async (is) => {
    if (await recordInUse(at, is)) return wasInUse ? null : MEANWHILE;
    return wasInUse ? anothers(at, is) : null;
  });
  if (held !== null) return held;
  const isTaken = own !== null || now.provision_state !== "active";
  const exchanged = isTaken ? await hardware.fake(id, reason, before) : null;
  if (isTaken && exchanged === null) await begin({ step: "unhanded" });
  const why =
    exchanged ??
    (await serversDeleted(hands, at, own)) ??
    (await withheld(hands, at, now)) ??
    (isTaken ? await active(hardware, id, before) : null) ??
    (isTaken || isFake ? await powered(hardware, id, before) : null);
  if (why !== null) {
    const remainsFake = (await hardware.read(id)).driver === FAKE;
    const left = remainsFake ? LEAVE : `${retainedWith(own)}${await novaWould(hands, at)}`;
    return isTaken || isFake ? `${why}; ${left}` : why;
  }
  const may = async (now: JsonObject): Promise<string | null> => {
    const late = await serverByMark(hands, at);
    return late === null ? reasonNotFree(now) : (unsure(late) ?? `server ${late.id} still exists`);
  };
  const other = await hardware.swap(id, before, { reason, exact: true, may });
  return other === null ? null : keepFake(at, other);
}

/** Restores the power state in Ironic's record. */
async function powered(
  hardware: FakeHardware,
  id: string,
  { power_state: was = null }: JsonObject,
): Promise<string | null> {
  const { power_state: is = null, target_power_state: goal = null } = await hardware.read(id);
  return is === was && goal === null ? null : hardware.power(id, String(was));
}

/** Adopts the machine again on fake hardware after its server was deleted. */
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
      : await hardware.bring(id, "deleted", nobodys);
  return (
    freed ??
    (await hardware.inform(id, before)) ??
    (state === "manageable" || state === "adopting" ? null : await hardware.bring(id, "manage")) ??
    (await hardware.bring(id, "adopt"))
  );
}

/** nova-compute may execute a request of Nova days later. */
const LEAVE =
  "it remains on fake hardware and in maintenance: do not change its driver until rollback has finished, or Nova may wipe it";

function retainedWith(own: NovaServer | null): string {
  return `it keeps its own hardware${own === null ? "" : " and its server"}, in maintenance`;
}

/** Its server, or a server of a delayed POST with the same mark. */
async function serverOfRun(
  hands: NovaClients,
  change: ManageChange,
  { instance_uuid: instance = null }: JsonObject,
): Promise<NovaServer | null> {
  const uuid = recordOf(change);
  const made = uuid === change.server ? null : await hands.servers.read(uuid);
  return made ?? serverByMark(hands, change, instance === null ? null : String(instance));
}
