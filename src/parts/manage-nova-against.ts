import { infoLost } from "../edge/ironic-rest/fake-hardware.ts";
import { type NovaServer, unsure } from "../edge/nova-rest/seen-servers.ts";
import { changedSince, FAKE, notAsBefore } from "../model/fake-hardware.ts";
import type { JsonObject } from "../model/json.ts";
import { isFinished, type ManageChange, recordOf } from "./manage-acts.ts";

/** Why a machine is not to be touched by its way back; null: nothing stands against it. */
export function objectionsBack(
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
): string | null {
  const instance = now.instance_uuid ?? null;
  if (instance !== null && instance !== own?.id)
    return instance === recordOf(change)
      ? `it has instance ${String(instance)} still, and this login finds no such server in Nova: use the login it was made with; if the server was deleted, start nova-compute so that it finishes the deletion`
      : `it has instance ${String(instance)}, which this run did not make`;
  const why = own === null ? null : standsAgainst(change, own);
  if (why !== null) return why;
  return now.driver === FAKE ? null : realObjections(now, before, own, change);
}

export const PROTECTED = "it is protected: unprotect it first";

/** Why a server is not to be deleted; null: nothing stands against it. */
function standsAgainst(change: ManageChange, own: NovaServer): string | null {
  if (own.node !== null && own.node !== change.id)
    return `server ${own.id} is on node ${own.node} by now: it is left there`;
  return own.locked ? `server ${own.id} is locked: unlock it first` : unsureOf(change, own);
}

/** The same of one whose driver can reach it: what is at work with it is not to be torn from it. */
function realObjections(
  now: JsonObject,
  before: JsonObject,
  own: NovaServer | null,
  change: ManageChange,
): string | null {
  if (own !== null && own.task !== null)
    return `Nova is still working on server ${own.id} (${own.task}): run rollback again when it is done`;
  const state = String(now.provision_state);
  // Once it had its hardware back, nobody but its user's word brought it to another state.
  if (
    !(isFinished(change) ? /^active$/ : /^(active|available|manageable|adopt failed)$/).test(state)
  )
    return `it is ${state}, and was left active`;
  if (!("protected" in before) && now.protected === true) return PROTECTED;
  // What is active without a server has nothing else to lose.
  const isFree = own === null && state === "active";
  const other = [
    ...(isFree ? notAsBefore : changedSince)(before, now),
    ...(own === null ? [] : infoLost(before, now)),
  ];
  return other.length === 0
    ? null
    : `it has changed since: ${other.join(", ")}; change it back first`;
}

/** The same of one whose uuid the journal has: that one is ours, seen or not. */
export function unsureOf(change: ManageChange, own: NovaServer): string | null {
  return own.id === recordOf(change) ? null : unsure(own);
}
