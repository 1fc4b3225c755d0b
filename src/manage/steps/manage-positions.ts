import type { Position } from "../../engine/window-part.ts";
import type { ComparedNode } from "../../model/ironic/adoptable.ts";
import type { RecordClient, ServerView } from "../../model/ironic/manage.ts";
import { isEmptied, reasonOf } from "../../systems/ironic-api/allocation.ts";
import {
  changedSince,
  claimsOn,
  type Hindrance,
  MARK,
  type Objection,
  objections,
  type PortFacts,
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
  readonly seen: ServerView;
  readonly why: readonly string[];
  /** The kind of each reason. */
  readonly hindrances: readonly Hindrance[];
  /** In service with its server. Only the mark is left to remove. */
  readonly inService?: true;
  readonly onFake?: true;
}

/** Changes by others of a machine with a new record that was not marked before. */
export function unlike(
  { server }: Pick<ManageChange, "server">,
  before: ComparedNode,
  now: ComparedNode | null,
): readonly Objection[] {
  const { instance_uuid = null } = now ?? {};
  if (now === null || instance_uuid !== server)
    return [
      { why: `instance_uuid is ${instance_uuid ?? "empty"}, expected ${server}`, is: "state" },
    ];
  return [...claimsOn(now, server), ...changedSince({ ...before, instance_uuid: server }, now)];
}

export function forwardOf(
  change: ManageChange,
  seen: ServerView,
  twice: ReadonlySet<string>,
): ManagePosition {
  const { id, server, asked } = change;
  const { node, record } = seen;
  if (node === null) return stays(seen, NO_NODE, "gone");
  if (node.instance_uuid === server) {
    const held = reservationOf(change);
    const open =
      node.extra[MARK] === server ||
      node.maintenance_reason === reasonOf(server) ||
      (held?.traits !== undefined && isEmptied(node.instance_info, held.traits));
    return { is: open ? "before" : "after", seen, ...NONE };
  }
  const strange =
    record !== null && record.state !== "error" && record.node_uuid !== id
      ? [{ why: `its record ${server} is ${record.state}`, is: "taken" as const }]
      : [];
  // An interrupted rollback may have left this run's maintenance, which is ended first.
  const fit = node.maintenance_reason === reasonOf(server) ? { ...node, maintenance: false } : node;
  const against = [...objections(fit, portContext(seen, twice, asked?.ports), server), ...strange];
  if (against.length > 0) return left(seen, against);
  // The values in the journal are older than the deleted record, so later changes would be lost.
  return change.open === false
    ? stays(
        seen,
        `its record ${server} was deleted since: run node unmanage ${id}, then manage it again`,
      )
    : { is: "before", seen, ...NONE };
}

export const NO_NODE = "Ironic has no such node";

export const NONE = { why: [], hindrances: [] } as const;

export function left(seen: ServerView, against: readonly Objection[]): ManagePosition {
  const [why, hindrances] = [against.map((one) => one.why), against.map(({ is }) => is)];
  return { is: "other", seen, why, hindrances };
}

export async function backOf(
  recordClient: RecordClient,
  change: ManageChange,
): Promise<ManagePosition> {
  const { id, server } = change;
  const binds = bindsOf(change);
  const seen = await recordClient.look(id, server, portsBound(change));
  const { node, record } = seen;
  if (node === null) return stays(seen, unseenNode(id), "gone");
  const held = reservationOf(change);
  // The record was deleted by others, without restoring the traits.
  const isSkipped =
    node.instance_uuid === null && held !== undefined && isEmptied(node.instance_info, held.traits);
  const open =
    isSkipped ||
    record !== null ||
    node.instance_uuid === server ||
    node.extra[MARK] === server ||
    node.maintenance_reason === reasonOf(server) ||
    binds.some(({ port }) => isBound(seen, port, server));
  if (open) return { is: "before", seen, ...NONE };
  // The rollback has already reported ports with another device.
  const why = binds.flatMap(({ port }) => (seen.ports?.has(port) === true ? [] : [unseen(port)]));
  return { is: why.length === 0 ? "after" : "other", seen, why, hindrances: [] };
}

export function isBound({ ports }: ServerView, port: string, server: string): boolean {
  return ports?.get(port)?.device_id === server;
}

export function portContext(
  { node, ports }: ServerView,
  known: ReadonlySet<string>,
  asked: readonly string[] | null | undefined,
): PortFacts {
  const vifs = (node?.nics ?? []).flatMap(({ vif }) => vif ?? []);
  const twice = vifs.filter((vif, at) => vifs.indexOf(vif) !== at || known.has(vif));
  const named = asked && { named: new Set(asked) };
  return { ports, twice: new Set(twice), ...named };
}

export function stays(seen: ServerView, why: string, is: Hindrance = "state"): ManagePosition {
  return left(seen, [{ why, is }]);
}
