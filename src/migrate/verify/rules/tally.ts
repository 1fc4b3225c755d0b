import type { RowState } from "../../../model/nova/nova-plan.ts";
import type { HypervisorTally } from "../../hosts/rules/computes.ts";

/** Numbers of Ironic's rows by result. */
export interface Tally {
  validated: number;
  mismatched: number;
  missing: number;
  extra: number;
  suspended: number;
  /** Rows that differ because the machine was used after its hand-over. */
  used: number;
  /** Rows that differ only in fields that a conductor changes. */
  ironics_own: number;
  /** Machines in the maintenance of a staged load. */
  staged: number;
  /** UUIDs of nodes with automated cleaning disabled. */
  readonly uncleaned: string[];
  /** Machines that the plan excludes: skipped, blocked, in conflict. */
  left_out: number;
}

/** Numbers of Nova's rows by state, and of compared machines. */
export interface NovaTally extends HypervisorTally, Record<RowState["is"], number> {
  machines: number;
  instances: number;
  /** Machines of `--final` without a nova-compute. */
  unreported: number;
  /** Rows that differ because their machine was used. */
  used: number;
  /** Whether Placement was compared. */
  readonly placement: boolean;
}

/** The result of a comparison. */
export interface Verified {
  readonly tally: Tally;
  /** Secrets that the service masks, so they cannot be compared. */
  readonly hidden: number;
  /** Null if Nova was not compared. */
  readonly nova: NovaTally | null;
}

export function emptyTally(): Tally {
  return {
    ...{ validated: 0, mismatched: 0, missing: 0, extra: 0, suspended: 0, used: 0 },
    ...{ ironics_own: 0, staged: 0, uncleaned: [], left_out: 0 },
  };
}

export function emptyNovaTally(placement: boolean): NovaTally {
  return {
    ...{ after: 0, before: 0, other: 0, used: 0, machines: 0, instances: 0, unreported: 0 },
    ...{ hypervisors: 0, providers: 0, awaited: 0, placement },
  };
}

/** Whether all compared rows are as planned, or explained by use since the hand-over. */
export function isEqual({ tally, nova }: Pick<Verified, "tally" | "nova">): boolean {
  const wrong = tally.mismatched + tally.missing + tally.extra + tally.suspended;
  return wrong === 0 && (nova === null || nova.before + nova.other === 0);
}

/** Number of compared rows. */
export function comparedOf(tally: Tally): number {
  const { validated, mismatched, missing, extra, suspended, used } = tally;
  return validated + mismatched + missing + extra + suspended + used;
}
