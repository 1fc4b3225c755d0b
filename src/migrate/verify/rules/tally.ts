import type { RowState } from "../../../model/nova/nova-plan.ts";
import type { HypervisorTally } from "../../hosts/rules/computes.ts";

/** Rows of Ironic, by what is said of them. */
export interface Tally {
  validated: number;
  mismatched: number;
  missing: number;
  extra: number;
  suspended: number;
  /** Rows whose differences the use of a machine since its hand-over explains. */
  used: number;
  /** Rows as planned but for fields a conductor changes by itself. */
  ironics_own: number;
  /** Machines in the maintenance of a staged load. */
  staged: number;
  /** Uuids of nodes that say themselves that they are not cleaned between tenants. */
  readonly uncleaned: string[];
  /** Machines the plan leaves out: skipped, blocked, in conflict. */
  left_out: number;
}

/** What was compared in Nova: rows of the plan by how they stand, and what else there is of machines. */
export interface NovaTally extends HypervisorTally, Record<RowState["is"], number> {
  machines: number;
  instances: number;
  /** Machines of `--final` that no nova-compute reports. */
  unreported: number;
  /** Rows of the plan that the use of their machine explains. */
  used: number;
  /** Whether Placement was asked too. */
  readonly placement: boolean;
}

/** What became of a comparison. */
export interface Verified {
  readonly tally: Tally;
  /** Secrets that the service masks: nothing can compare them. */
  readonly hidden: number;
  /** Null: Nova was not asked. */
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

/** Whether everything that was compared is as planned, or as its use since the hand-over leaves it. */
export function isEqual({ tally, nova }: Pick<Verified, "tally" | "nova">): boolean {
  const wrong = tally.mismatched + tally.missing + tally.extra + tally.suspended;
  return wrong === 0 && (nova === null || nova.before + nova.other === 0);
}

/** Rows that were compared, whatever came of it. */
export function comparedOf(tally: Tally): number {
  const { validated, mismatched, missing, extra, suspended, used } = tally;
  return validated + mismatched + missing + extra + suspended + used;
}
