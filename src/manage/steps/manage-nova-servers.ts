import type { JsonObject } from "../../lib/json.ts";
import { customClass } from "../../migrate/flavors/rules/flavors.ts";
import { changedSince, FAKE, harmless, notAsBefore } from "../../model/ironic/fake-hardware.ts";
import { infoChanges } from "../../systems/ironic-api/fake-hardware.ts";
import { type NovaServer, unsure } from "../../systems/nova-api/server-state.ts";
import { pause } from "../../systems/openstack/passing.ts";
import type { NovaClients } from "../nova-clients.ts";
import { isFinished, type ManageChange, recordOf } from "./manage-acts.ts";
import { MOST_READS, maintenanceFor, type ServerMaking } from "./manage-nova-create.ts";
import { portsAgainst } from "./manage-nova-ports.ts";

export type Back = ManageChange & Pick<ServerMaking, "clients" | "before" | "begin">;

export async function rejectionsBack(
  change: Back,
  now: JsonObject,
  runServer: NovaServer | null,
): Promise<string | null> {
  const { clients } = change;
  const instance = now.instance_uuid ?? null;
  if (instance !== null && instance !== runServer?.id)
    return instance === recordOf(change)
      ? `it still has instance ${String(instance)}, but this server is not visible in Nova with these credentials: use the credentials that created it. If the server was deleted, ${deletedOn(now)}`
      : `it has instance ${String(instance)}, not created by this run`;
  const reason = runServer === null ? null : reasonAgainst(change, runServer);
  if (reason !== null) return reason;
  if (now.driver === FAKE) return null;
  const real = realRejections(change, now, runServer);
  if (real !== null || runServer === null) return real;
  // Nova deletes all volume targets of the node. @source nova 26: virt/ironic/driver.py,
  // _cleanup_volume_target_info
  return (await clients.hardware.hasTargets(change.id))
    ? "it now has volume targets, which Nova would delete with the server: delete them first (openstack baremetal volume target delete, which needs the machine off)"
    : null;
}

/**
 * When nova-compute starts, it undeploys a node with a deleted server, also in maintenance.
 *
 * @source nova 26: compute/manager.py, _cleanup_running_deleted_instances, virt/ironic/driver.py,
 * destroy; ironic 21.4: conductor/manager.py, do_node_tear_down
 */
function deletedOn({ driver, uuid }: JsonObject): string {
  return driver === FAKE
    ? "start nova-compute so that it finishes the deletion"
    : `nova-compute undeploys the machine when it starts, which powers the machine off and wipes it, also in maintenance: to keep the machine, first unset its instance_uuid (openstack baremetal node unset --instance-uuid ${String(uuid)}), then run rollback`;
}

const PROTECTED = "it is protected: unprotect it first";

function reasonAgainst(change: ManageChange, made: NovaServer): string | null {
  if (made.node !== null && made.node !== change.id)
    return `server ${made.id} is now on node ${made.node}, so it is kept`;
  return made.locked ? `server ${made.id} is locked: unlock it first` : unsureOf(change, made);
}

/** As `reasonAgainst`, for a machine that its driver can reach, which may be busy. */
function realRejections(change: Back, now: JsonObject, made: NovaServer | null): string | null {
  const { before } = change;
  if (made !== null && made.task !== null)
    return `Nova is still working on server ${made.id} (${made.task}): run rollback again when it is done`;
  const { maintenance, maintenance_reason: reason = null, console_enabled: hasConsole } = now;
  if (maintenance === true && reason !== maintenanceFor(change.server))
    return `it is in maintenance, which this run did not set: ${String(reason ?? "no reason given")}; end it first`;
  const state = String(now.provision_state);
  // After its hardware was restored, only the user can have changed the state.
  if (
    !(isFinished(change) ? /^active$/ : /^(active|available|manageable|adopt failed)$/).test(state)
  )
    return `it is ${state}, but the run left it active${made === null && /^(available|manageable)$/.test(state) ? freeOr(now) : ""}`;
  if (!("protected" in before) && now.protected === true) return PROTECTED;
  // An active machine without a server keeps its driver.
  const isFree = made === null && state === "active";
  if (hasConsole === true && !isFree)
    return "its console is enabled, so Ironic cannot change its driver: disable the console first";
  const other = [
    ...(isFree ? notAsBefore : changedSince)(before, now),
    ...(made === null ? [] : infoChanges(before, now, false)),
  ];
  return other.length === 0
    ? null
    : `it has changed since: ${other.join(", ")}. Change it back first`;
}

/** Advice for a machine without its server, which may run or be torn down. */
function freeOr({ uuid }: JsonObject): string {
  return `: if the machine is free now, end its maintenance and run rollback again. If it still runs, set fake hardware (openstack baremetal node set --driver fake-hardware --reset-interfaces ${String(uuid)}), then run rollback`;
}

/** A server whose uuid is in the journal belongs to this run. */
function unsureOf(change: ManageChange, runServer: NovaServer): string | null {
  return runServer.id === recordOf(change) ? null : unsure(runServer);
}

export async function serversDeleted(
  clients: NovaClients,
  change: ManageChange,
  runServer: NovaServer | null,
): Promise<string | null> {
  const { hardware, servers } = clients;
  const mayEnd = (one: NovaServer) => async (): Promise<string | null> => {
    const now = await hardware.read(change.id);
    const real = harmless(now);
    if (real !== null) return real;
    // Ironic refuses to undeploy a protected node, and Nova sets the server to ERROR.
    return now.protected === true ? PROTECTED : portsAgainst(clients, change, one);
  };
  let next = runServer ?? (await serverByMark(clients, change));
  for (let tries = 0; next !== null && tries < MOST_SERVERS; tries += 1) {
    const reason = unsureOf(change, next) ?? (await servers.remove(next.id, mayEnd(next)));
    if (reason !== null) return reason;
    next = await serverByMark(clients, change);
  }
  return next === null ? null : `server ${next.id} still exists`;
}

/** Otherwise nova-compute would deploy to the node after its own driver is restored. */
export async function withheld(
  { offers }: NovaClients,
  { id, acts }: ManageChange,
  { resource_class: name }: JsonObject,
): Promise<string | null> {
  if (!acts.some(({ step }) => step === "record")) return null;
  let claims: readonly string[] = [];
  for (let tries = 0; tries < MOST_READS; tries += 1) {
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

/** A server on this node with the mark, even if its uuid is unknown. */
export async function serverByMark(
  { servers }: NovaClients,
  { id, server, acts }: ManageChange,
  instance: string | null = null,
): Promise<NovaServer | null> {
  return acts.some(({ step }) => step === "record") ? servers.find(server, id, instance) : null;
}
