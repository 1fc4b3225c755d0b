import type { Row } from "../../model/machine.ts";
import type { Judged } from "./judge.ts";

/** A machine's node as planned. */
export interface PlannedNode {
  readonly uuid: string;
  readonly bm_node_id: number;
  readonly row: Row;
  /** Uuid of its tenant's root filesystem; absent where the plan knows none. */
  readonly root?: string;
}

export interface Trouble extends Judged {
  readonly uuid: string;
  readonly bm_node_id: number;
  /** What the conductors' logs say. */
  readonly log?: readonly string[];
}
