import type { Position } from "../../engine/window-part.ts";
import type { ComparedNode, ServerView } from "../../model/ironic/manage.ts";
import { isEmptied, reasonOf } from "../../systems/ironic-api/allocation.ts";
import type { RecordClient } from "../record-client.ts";
import {
  changedSince,
  claimsOn,
  type FaultKind,
  faultsIn,
  MARK,
  type PortFacts,
  type Rejection,
} from "../rules/criteria.ts";
import {
  bindsOf,
  type ManageChange,
  portsBound,
  reservationOf,
  unseen,
  unseenNode,
} from "./manage-acts.ts";

export interface ManagePosition extends Position {
  readonly view: ServerView;
  readonly reasons: readonly string[];
  /** The kind of each reason. */
  readonly rejectionKinds: readonly FaultKind[];
  /** In service with its server. Only the mark is left to remove. */
  readonly inService?: true;
  readonly onFake?: true;
}

/** Changes that other users made to a machine with a new record that was not marked before. */
export function unlike(
  { server }: Pick<ManageChange, "server">,
  before: ComparedNode,
  now: ComparedNode | null,
): readonly Rejection[] {
  const { instance_uuid = null } = now ?? {};
  if (now === null || instance_uuid !== server)
    return [
      { reason: `instance_uuid is ${instance_uuid ?? "empty"}, expected ${server}`, is: "state" },
    ];
  return [...claimsOn(now, server), ...changedSince({ ...before, instance_uuid: server }, now)];
}

export function forwardOf(
  change: ManageChange,
  view: ServerView,
  shared: ReadonlySet<string>,
): ManagePosition {
  const { id, server, request } = change;
  const { node, record } = view;
  if (node === null) return blocked(view, NO_NODE, "gone");
  if (node.instance_uuid === server) {
    const reservation = reservationOf(change);
    const open =
      node.extra[MARK] === server ||
      node.maintenance_reason === reasonOf(server) ||
      (reservation?.traits !== undefined && isEmptied(node.instance_info, reservation.traits));
    return { is: open ? "before" : "after", view, ...NONE };
  }
  const taken =
    record !== null && record.state !== "error" && record.node_uuid !== id
      ? [{ reason: `its record ${server} is ${record.state}`, is: "taken" as const }]
      : [];
  // An interrupted rollback may have left this run's maintenance, which is ended first.
  const fit = node.maintenance_reason === reasonOf(server) ? { ...node, maintenance: false } : node;
  const against = [...faultsIn(fit, portContext(view, shared, request?.ports), server), ...taken];
  if (against.length > 0) return blockedBy(view, against);
  // The values in the journal are older than the deleted record, so later changes would be lost.
  return change.open === false
    ? blocked(
        view,
        `its record ${server} has been deleted: run node unmanage ${id}, then manage it again`,
      )
    : { is: "before", view, ...NONE };
}

export const NO_NODE = "Ironic has no such node";

export const NONE = { reasons: [], rejectionKinds: [] } as const;

export function blockedBy(view: ServerView, against: readonly Rejection[]): ManagePosition {
  const [reasons, rejectionKinds] = [against.map((one) => one.reason), against.map(({ is }) => is)];
  return { is: "other", view, reasons, rejectionKinds };
}

export async function backOf(
  recordClient: RecordClient,
  change: ManageChange,
): Promise<ManagePosition> {
  const { id, server } = change;
  const binds = bindsOf(change);
  const view = await recordClient.read(id, server, portsBound(change));
  const { node, record } = view;
  if (node === null) return blocked(view, unseenNode(id), "gone");
  const act = reservationOf(change);
  // Another user deleted the record without restoring the traits.
  const isSkipped =
    node.instance_uuid === null && act !== undefined && isEmptied(node.instance_info, act.traits);
  const open =
    isSkipped ||
    record !== null ||
    node.instance_uuid === server ||
    node.extra[MARK] === server ||
    node.maintenance_reason === reasonOf(server) ||
    binds.some(({ port }) => isBound(view, port, server));
  if (open) return { is: "before", view, ...NONE };
  // The rollback has already reported ports with another device.
  const reasons = binds.flatMap(({ port }) =>
    view.ports?.has(port) === true ? [] : [unseen(port)],
  );
  return { is: reasons.length === 0 ? "after" : "other", view, reasons, rejectionKinds: [] };
}

export function isBound({ ports }: ServerView, port: string, server: string): boolean {
  return ports?.get(port)?.device_id === server;
}

export function portContext(
  { node, ports }: ServerView,
  sharedVifs: ReadonlySet<string>,
  requested: readonly string[] | null | undefined,
): PortFacts {
  const vifs = (node?.nics ?? []).flatMap(({ vif }) => vif ?? []);
  const duplicates = vifs.filter((vif, at) => vifs.indexOf(vif) !== at || sharedVifs.has(vif));
  const selection = requested && { selected: new Set(requested) };
  return { ports, duplicates: new Set(duplicates), ...selection };
}

export function blocked(view: ServerView, reason: string, is: FaultKind = "state"): ManagePosition {
  return blockedBy(view, [{ reason, is }]);
}
