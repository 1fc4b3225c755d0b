import type { Json } from "../lib/json.ts";
import type { Service } from "./ironic/service.ts";
import type { Row } from "./machine.ts";

/** What a node's row tells of its hand-over to a conductor. */
export interface ObservedNode {
  readonly provision_state: string | null;
  readonly maintenance: boolean;
  readonly maintenance_reason: string | null;
  /** The conductor that took it over; null until then. */
  readonly taker: Taker | null;
  /** Host of the conductor that works on it now. */
  readonly reservation: string | null;
  readonly last_error: string | null;
  readonly power_state: string | null;
}

/** A conductor as a node's conductor_affinity names it. */
export interface Taker {
  /** Null: no conductor has this id any more. */
  readonly hostname: string | null;
  /** As a conductor's `alive`: a dead one keeps the node until another takes it over. */
  readonly alive: boolean;
}

/** How machines are handed over; every call speaks of node uuids. */
export interface Handover {
  /** Nodes that are not there are not in the answer. */
  readonly observe: (uuids: readonly string[]) => Promise<ReadonlyMap<string, ObservedNode>>;
  /** Clears the maintenance of a staged load; false when it is not there or a conductor works on it. */
  readonly clear: (uuid: string) => Promise<boolean>;
  /** Puts it there again; false when the machine is in maintenance or a conductor works on it. */
  readonly stage: (uuid: string) => Promise<boolean>;
  /** Who would take machines over. */
  readonly service: () => Promise<Pick<Service, "conductors" | "interfaces">>;
}

/** How conductors take machines over, by their ironic.conf: of several that differ, the slowest. */
export interface TakeOverPace {
  /** Seconds between two passes; 0 or less: there are none. */
  readonly interval: number;
  /** Machines that a conductor takes over in one pass. */
  readonly workers: number;
  readonly conductors: number;
  /** Where these figures come from, in words. */
  readonly from: string;
}

/** Of one conductor as Ironic sets it, from 2014.2 to 38.0.0. */
export const USUAL_PACE: TakeOverPace = {
  ...{ interval: 180, workers: 8, conductors: 1 },
  from: "Ironic's default settings",
};

/** As mappings/settings.json sets it for the window. */
export const WINDOW_PACE: TakeOverPace = {
  ...{ interval: 10, workers: 40, conductors: 1 },
  from: "the patch of config --ironic-conf",
};

/** Names its entries in the journal. */
export const HAND_OVER = "hand-over";

/** How a node is guarded: the fields that finish clears. */
export interface Guards {
  readonly protected: boolean;
  readonly protected_reason: string | null;
  /** NULL: as the conductor's own setting has it. */
  readonly automated_clean: boolean | null;
}

/** What a node tells of its guards, and of who works on it. */
export interface Guarded extends Guards {
  readonly provision_state: string | null;
  readonly instance_uuid: string | null;
  readonly maintenance: boolean;
  readonly maintenance_reason: string | null;
  /** Host of the conductor that works on it now. */
  readonly reservation: string | null;
  /** Whether a conductor has taken it over; null: the API does not tell. */
  readonly taken: boolean | null;
}

/** What became of a change: `again` when the node is no longer as it was seen, or is locked. */
type GuardWritten = "done" | "again" | { readonly why: string };

/** How machines lose their guards, and get them back; every call speaks of node uuids. */
export interface Guard {
  /** Nodes that are not there are not in the answer. */
  readonly observe: (uuids: readonly string[]) => Promise<ReadonlyMap<string, Guarded>>;
  /** Changes a node that is as seen and that no conductor works on. */
  readonly write: (uuid: string, seen: Guards, change: Partial<Guards>) => Promise<GuardWritten>;
}

/** Names its entries in the journal. */
export const FINISH = "finish";

/** The end of the window. */
export interface FinishState {
  /** When finish ended the run; null when it did not, or the run went on since. */
  readonly end: { readonly at: string; readonly by: string } | null;
  /** Whether this Ironic protects machines. */
  readonly guards: boolean;
}

/**
 * Why a machine that was loaded for a later hand-over is in maintenance, in which no conductor
 * touches it. The text is how its row is known from one an operator put there: never change it.
 *
 * @source facts/ironic.md 1.5, safe staging
 */
export const STAGED = "nova2ironic: staged; nova2ironic release hands it over";

/** The row as a staged load writes it; one the plan loads in maintenance stays as it is. */
export function staged(row: Row): Row {
  return row.maintenance === false
    ? { ...row, maintenance: true, maintenance_reason: STAGED }
    : row;
}

/** Whether a planned row is there in our maintenance: that makes it no other row. */
export function isStaged(planned: Row, found: Row): boolean {
  return planned.maintenance === false && isOurs(found.maintenance, found.maintenance_reason);
}

/** Whether maintenance is ours to clear. */
export function isOurs(maintenance: Json | undefined, reason: Json | undefined): boolean {
  return maintenance === true && reason === STAGED;
}

export interface Trouble extends Judged {
  readonly uuid: string;
  readonly bm_node_id: number;
  /** What the conductors' logs say. */
  readonly log?: readonly string[];
}

export interface Judged {
  readonly state: HandoverState;
  /** What is wrong, when something is. */
  readonly why: string | null;
  /** What the operator can do about it: one sentence. */
  readonly fix: string | null;
}

/**
 * Where a machine stands on its way to a conductor: `staged` until it is released, `waiting` until
 * a conductor has taken it over, `done` then; `held` is loaded in maintenance by the plan's own
 * word; `failed` and `missing` need somebody.
 */
export type HandoverState = "staged" | "waiting" | "done" | "held" | "failed" | "missing";
