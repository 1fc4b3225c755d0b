import type { JsonObject } from "../../lib/json.ts";
import { changedSince, FAKE, notAsBefore } from "../../model/ironic/fake-hardware.ts";
import { infoChanges } from "../../systems/ironic-api/fake-hardware.ts";
import { type NovaServer, unsure } from "../../systems/nova-api/seen-servers.ts";
import { isFinished, type ManageChange, recordOf } from "./manage-acts.ts";
import type { NovaHands } from "./manage-nova-hands.ts";
import { heldFor } from "./manage-nova-marks.ts";

export async function objectionsBack(
  hands: NovaHands,
  now: JsonObject,
  {
    before,
    own,
    change,
  }: {
    readonly before: JsonObject;
    readonly own: NovaServer | null;
    readonly change: ManageChange;
  },
): Promise<string | null> {
  const instance = now.instance_uuid ?? null;
  if (instance !== null && instance !== own?.id)
    return instance === recordOf(change)
      ? `it still has instance ${String(instance)}, but this login finds no such server in Nova: use the login that created it. If the server was deleted, ${deletedOn(now)}`
      : `it has instance ${String(instance)}, which this run did not make`;
  const why = own === null ? null : standsAgainst(change, own);
  if (why !== null) return why;
  if (now.driver === FAKE) return null;
  const real = realObjections(now, before, own, change);
  if (real !== null || own === null) return real;
  // Nova deletes all volume targets of the node. @source nova 26: virt/ironic/driver.py,
  // _cleanup_volume_target_info
  return (await hands.hardware.hasTargets(change.id))
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

export const PROTECTED = "it is protected: unprotect it first";

function standsAgainst(change: ManageChange, own: NovaServer): string | null {
  if (own.node !== null && own.node !== change.id)
    return `server ${own.id} is now on node ${own.node}, so it is kept`;
  return own.locked ? `server ${own.id} is locked: unlock it first` : unsureOf(change, own);
}

/** The same for a machine that its driver can reach, which may be busy. */
function realObjections(
  now: JsonObject,
  before: JsonObject,
  own: NovaServer | null,
  change: ManageChange,
): string | null {
  if (own !== null && own.task !== null)
    return `Nova is still working on server ${own.id} (${own.task}): run rollback again when it is done`;
  const { maintenance, maintenance_reason: reason = null, console_enabled: hasConsole } = now;
  if (maintenance === true && reason !== heldFor(change.server))
    return `it is in maintenance that this run did not set: ${String(reason ?? "no reason given")}; end it first`;
  const state = String(now.provision_state);
  // After its hardware was restored, only the user can have changed the state.
  if (
    !(isFinished(change) ? /^active$/ : /^(active|available|manageable|adopt failed)$/).test(state)
  )
    return `it is ${state}, but the run left it active${own === null && /^(available|manageable)$/.test(state) ? freeOr(now) : ""}`;
  if (!("protected" in before) && now.protected === true) return PROTECTED;
  // An active machine without a server keeps its driver.
  const isFree = own === null && state === "active";
  if (hasConsole === true && !isFree)
    return "its console is enabled, so Ironic cannot change its driver: disable the console first";
  const other = [
    ...(isFree ? notAsBefore : changedSince)(before, now),
    ...(own === null ? [] : infoChanges(before, now, false)),
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
export function unsureOf(change: ManageChange, own: NovaServer): string | null {
  return own.id === recordOf(change) ? null : unsure(own);
}
