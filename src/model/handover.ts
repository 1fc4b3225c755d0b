import type { Service } from "./service.ts";

/** What a node's row tells of its hand-over to a conductor. */
export interface Observed {
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
  readonly observe: (uuids: readonly string[]) => Promise<ReadonlyMap<string, Observed>>;
  /** Clears the maintenance of a staged load; false when it is not there or a conductor works on it. */
  readonly clear: (uuid: string) => Promise<boolean>;
  /** Puts it there again; false when the machine is in maintenance or a conductor works on it. */
  readonly stage: (uuid: string) => Promise<boolean>;
  /** Who would take machines over. */
  readonly service: () => Promise<Pick<Service, "conductors" | "interfaces">>;
}

/** Names its entries in the journal. */
export const HAND_OVER = "hand-over";
