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
} from "./manage-nova-create.ts";
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
import { fakeAgain, foreignRecord, novaWould } from "./manage-nova-steps.ts";
import { blocked, type ManagePosition, NONE } from "./manage-positions.ts";

/** @param auto true without a rollback command: servers that may be in use are kept */
export function novaBackPart(clients: NovaClients, most: number, auto = false): ManagePart {
  return {
    ...{ name: MANAGE, size: SIZE, keepsBack: true },
    inspect: (changes) => inFlight(changes, most, (change) => backOf(clients, change, auto)),
    async perform(change, position, begin) {
      // The position may be minutes old.
      const { view } = position;
      if (auto && view.record !== null)
        if (isServing(change, view, await clients.hardware.read(change.id)))
          return { ...blocked(view, IN_USE), inService: true };
      await begin();
      const making = recording(change.acts, begin);
      const reason = await back(clients, { ...change, ...making }, view);
      if (reason === null) return { ...position, is: "after", ...NONE };
      const result = blocked(await lastState(clients, change, view), reason);
      return reason === MEANWHILE ? { ...result, inService: true } : result;
    },
  };
}

async function backOf(
  clients: NovaClients,
  change: ManageChange,
  auto: boolean,
): Promise<ManagePosition> {
  const { id, server } = change;
  const view = await clients.read(change);
  const { node, record } = view;
  if (node === null) return blocked(view, unseenNode(id), "gone");
  const isOwned =
    record !== null ||
    // The server was deleted, or the login does not see it.
    node.instance_uuid === recordOf(change) ||
    marked(change, view) ||
    node.maintenance_reason === maintenanceFor(server) ||
    bindsOf(change).some(({ port }) => view.ports?.get(port)?.device_id === recordOf(change));
  if (isOwned && !auto) return { is: "before", view, ...NONE };
  const now = await clients.hardware.read(id);
  if (auto && isServing(change, view, now)) return { ...blocked(view, IN_USE), inService: true };
  // The node may still have the driver of this run without the mark.
  const isFake = now.driver === FAKE && change.acts.some(({ step }) => step === "fake");
  const open = isOwned || isFake || (await requiredPorts(clients, change, now));
  return { is: open ? "before" : "after", view, ...NONE };
}

const IN_USE =
  "its user may be using its server: restore its former state and run the same command, or run rollback, which deletes the server";

const MEANWHILE = `its maintenance was ended during the rollback, and ${IN_USE}`;

/** Whether nothing of the node belongs to this run except a mark. */
function isPortsAlone(change: ManageChange, view: ServerView, now: JsonObject): boolean {
  if (view.record !== null) return false;
  // The node may have the server of unknown uuid.
  if (marked(change, view) && !isMade(change)) return false;
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
  clients: NovaClients,
  change: ManageChange,
  now: JsonObject,
): Promise<boolean> {
  return change.open === true && requiresPorts(change, now) && (await portsOpen(clients, change));
}

async function back(
  clients: NovaClients,
  change: ManageChange & Pick<Back, "begin">,
  view: ServerView,
): Promise<string | null> {
  const { id, server } = change;
  const before = reservationOf(change)?.node;
  if (before === undefined) return "the journal does not have its former state";
  const { hardware } = clients;
  const reason = maintenanceFor(server);
  const now = await hardware.read(id);
  if (isPortsAlone(change, view, now)) {
    const unrestored = requiresPorts(change, now) ? await portsBack(clients, change) : [];
    const may = (is: JsonObject) => (isForeign(change, is) ? null : "it changed in the meantime");
    const ended = await hardware.release(id, reason, may);
    // Empty traits now belong to the node's new owner.
    return whysOf(ended ?? (await clients.recordClient.release(id, server, [])), unrestored);
  }
  const at: Back = { ...change, clients, before };
  const wasFaked = change.acts.some(({ step }) => step === "fake");
  if (wasFaked) {
    const refusal = await faked(at, now);
    if (refusal !== null) return refusal;
  }
  const unrestored = await portsBack(clients, change);
  const released = await hardware.release(id, reason, (now) =>
    wasFaked ? notBack(before, now) : null,
  );
  if (released !== null && wasFaked) return keepFake(at, released);
  const refusal = released ?? (await clients.recordClient.release(id, server, traitsIn(before)));
  return whysOf(refusal, unrestored);
}

function whysOf(reason: string | null, more: readonly string[]): string | null {
  const all = [...(reason === null ? [] : [reason]), ...more];
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

async function keepFake(at: Back, reason: string): Promise<string> {
  return `${await fakeAgain(at, reason)}, in maintenance`;
}

async function faked(at: Back, found: JsonObject): Promise<string | null> {
  const { clients, id, server, before, begin } = at;
  const { hardware } = clients;
  const reason = maintenanceFor(server);
  let now = found;
  let runServer = await serverOfRun(clients, at, now);
  // nova-compute completes a build even if the server is deleted, so wait for its result.
  if (runServer?.status === "BUILD" && now.driver === FAKE) {
    await clients.servers.waitUntilIdle(runServer.id);
    now = await hardware.read(id);
    runServer = await serverOfRun(clients, at, now);
  }
  const isFake = now.driver === FAKE;
  const against =
    (await rejectionsBack(at, now, runServer)) ??
    (runServer === null ? null : await portsAgainst(clients, at, runServer)) ??
    // The position may be minutes old.
    (runServer === null || isFake ? null : detachedPorts(at, await clients.read(at), runServer));
  if (against !== null) {
    if (!isFake) return against;
    // Another run may have marked the node.
    const mark = await clients.recordClient.reserve(id, server);
    if ("reason" in mark) return `${against}; ${mark.reason}`;
    const maintenanceFault = await hardware.maintain(id, reason, ({ driver }) =>
      driver === FAKE ? null : "it now has its own hardware",
    );
    return `${against}; ${maintenanceFault === null ? "it stays on fake hardware, in maintenance" : `it is not held, ${maintenanceFault}`}`;
  }
  // Saves the port changes of a server that was in service.
  if (runServer !== null && !isFake && (isPorted(at) || at.open === false))
    await portsChanged(clients, at, begin);
  const mark = await clients.recordClient.reserve(id, server);
  if ("reason" in mark) return mark.reason;
  const wasInUse = isInUse(at, now);
  const maintenanceFault = await hardware.maintain(id, reason, async (is) => {
    if (await recordInUse(at, is)) return wasInUse ? null : MEANWHILE;
    return wasInUse ? anothers(at, is) : null;
  });
  if (maintenanceFault !== null) return maintenanceFault;
  const isTaken = runServer !== null || now.provision_state !== "active";
  const exchanged = isTaken ? await hardware.fake(id, reason, before) : null;
  if (isTaken && exchanged === null) await begin({ step: "unhanded" });
  const refusal =
    exchanged ??
    (await serversDeleted(clients, at, runServer)) ??
    (await withheld(clients, at, now)) ??
    (isTaken ? await active(hardware, id, before) : null) ??
    (isTaken || isFake ? await powered(hardware, id, before) : null);
  if (refusal !== null) {
    const remainsFake = (await hardware.read(id)).driver === FAKE;
    const note = remainsFake ? WAIT : `${retainedWith(runServer)}${await novaWould(clients, at)}`;
    return isTaken || isFake ? `${refusal}; ${note}` : refusal;
  }
  const may = async (now: JsonObject): Promise<string | null> => {
    const late = await serverByMark(clients, at);
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
async function active(hardware: FakeHardware, id: string, old: JsonObject): Promise<string | null> {
  const { provision_state: state } = await hardware.read(id);
  if (state === "active") return null;
  const freed =
    state === "manageable" || state === "adopt failed" || state === "adopting"
      ? null
      : await hardware.apply(id, "deleted", foreignRecord);
  return (
    freed ??
    (await hardware.inform(id, old)) ??
    (state === "manageable" || state === "adopting" ? null : await hardware.apply(id, "manage")) ??
    (await hardware.apply(id, "adopt"))
  );
}

/** nova-compute may execute a request of Nova days later. */
const WAIT =
  "it remains on fake hardware and in maintenance: do not change its driver until rollback has finished, or Nova may wipe it";

function retainedWith(server: NovaServer | null): string {
  return `it keeps its own hardware${server === null ? "" : " and its server"}, in maintenance`;
}

/** Its server, or a server of a delayed POST with the same mark. */
async function serverOfRun(
  clients: NovaClients,
  change: ManageChange,
  { instance_uuid: instance = null }: JsonObject,
): Promise<NovaServer | null> {
  const uuid = recordOf(change);
  const made = uuid === change.server ? null : await clients.servers.read(uuid);
  return made ?? serverByMark(clients, change, instance === null ? null : String(instance));
}
