import type { Json } from "../lib/json.ts";
import type { Service } from "./ironic/service.ts";
import type { Row } from "./machine.ts";
import type { Texts } from "./rows.ts";

export interface ObservedNode
  extends Texts<"provision_state" | "maintenance_reason" | "last_error" | "power_state"> {
  readonly maintenance: boolean;
  /**
   * The conductor that took it over, else null. Its name is null if no conductor has its id. A dead
   * one keeps the node until another one takes it over.
   */
  readonly taker: { readonly hostname: string | null; readonly alive: boolean } | null;
  readonly reservation: string | null;
}

/** Hands machines over by node uuid. */
export interface Handover {
  /** The result omits missing nodes. */
  readonly observe: (uuids: readonly string[]) => Promise<ReadonlyMap<string, ObservedNode>>;
  /** Clears our maintenance. False if it is not set or a conductor locks the node. */
  readonly clear: (uuid: string) => Promise<boolean>;
  /** Sets our maintenance again. False if it is in maintenance or a conductor locks the node. */
  readonly stage: (uuid: string) => Promise<boolean>;
  readonly service: () => Promise<Pick<Service, "conductors" | "interfaces">>;
}

/** The pace of the slowest conductor, if their ironic.conf files differ. */
export interface TakeOverPace {
  /** Seconds between two passes; 0 or less disables them. */
  readonly interval: number;
  readonly workers: number;
  readonly conductors: number;
  readonly from: string;
}

function paceOf(interval: number, workers: number, from: string): TakeOverPace {
  return { interval, workers, conductors: 1, from };
}

/** Ironic's defaults for one conductor, 2014.2 to 38.0.0. */
export const USUAL_PACE = paceOf(180, 8, "Ironic's default settings");

/** Values of mappings/settings.json for the window. */
export const WINDOW_PACE = paceOf(10, 40, "the patch of config --ironic-conf");

export const HAND_OVER = "hand-over";

export interface Guards {
  readonly protected: boolean;
  readonly protected_reason: string | null;
  /** NULL: the conductor's setting applies. */
  readonly automated_clean: boolean | null;
}

export interface Guarded
  extends Guards,
    Pick<ObservedNode, "provision_state" | "maintenance" | "maintenance_reason" | "reservation"> {
  readonly instance_uuid: string | null;
  readonly taken: boolean | null;
}

/** `again`: the node changed or is locked. */
type GuardWritten = "done" | "again" | { readonly reason: string };

/** Sets and clears protection by node uuid. */
export interface Guard {
  /** The result omits missing nodes. */
  readonly observe: (uuids: readonly string[]) => Promise<ReadonlyMap<string, Guarded>>;
  /** Changes a node that is unchanged and not locked. */
  readonly write: (uuid: string, before: Guards, change: Partial<Guards>) => Promise<GuardWritten>;
}

export const FINISH = "finish";

export interface FinishState {
  /** When finish ended the run. Null if it did not, or if the run was resumed. */
  readonly end: { readonly at: string; readonly by: string } | null;
  readonly guards: boolean;
}

/**
 * Maintenance reason of a machine that waits for its hand-over. Conductors do not touch it until
 * then. The text identifies our maintenance: never change it.
 * @source facts/ironic.md 1.5, safe staging
 */
export const STAGED = "nova2ironic: staged; nova2ironic release hands it over";

/** The row of a staged load. A row that the plan loads in maintenance is unchanged. */
export function staged(row: Row): Row {
  return row.maintenance === false
    ? { ...row, maintenance: true, maintenance_reason: STAGED }
    : row;
}

/** Whether a planned row is in our maintenance, which is no difference. */
export function isStaged(planned: Row, found: Row): boolean {
  return planned.maintenance === false && isOwned(found.maintenance, found.maintenance_reason);
}

/** Whether we set the maintenance and may clear it. */
export function isOwned(maintenance: Json | undefined, reason: Json | undefined): boolean {
  return maintenance === true && reason === STAGED;
}

export interface Trouble extends Judged {
  readonly uuid: string;
  readonly bm_node_id: number;
  readonly log?: readonly string[];
}

export interface Judged {
  /**
   * `staged`: not released. `waiting`: no conductor has taken it over. `held`: in maintenance by the
   * plan. `failed` and `missing` need the operator.
   */
  readonly state: "staged" | "waiting" | "done" | "held" | "failed" | "missing";
  readonly reason: string | null;
  readonly fix: string | null;
}
