/** Numbers of Ironic's rows by result. */
export type Tally = ReturnType<typeof emptyTally>;

export function emptyTally() {
  const uncleaned: string[] = [];
  return {
    ...{ validated: 0, mismatched: 0, missing: 0, extra: 0, suspended: 0 },
    /** Rows that differ because the machine was used after its hand-over. */
    used: 0,
    /** Rows that differ only in fields that a conductor changes. */
    ironics_own: 0,
    /** Machines in the maintenance of a staged load. */
    staged: 0,
    /** UUIDs of nodes with automated cleaning disabled. */
    uncleaned,
    /** Machines that the plan excludes: skipped, blocked, in conflict. */
    left_out: 0,
  };
}

/** Numbers of Nova's rows by state, and of compared machines. */
export type NovaTally = ReturnType<typeof emptyNovaTally>;

/** @param placement whether Placement was compared */
export function emptyNovaTally(placement: boolean) {
  return {
    ...{ after: 0, before: 0, other: 0, machines: 0, instances: 0, placement },
    ...{ hypervisors: 0, providers: 0 },
    /** Machines without a compute node of the ironic driver that need none yet. */
    awaited: 0,
    /** Machines of `--final` without a nova-compute. */
    unreported: 0,
    /** Rows that differ because their machine was used. */
    used: 0,
  };
}

export interface Verified {
  readonly tally: Tally;
  /** Secrets that the service masks, so they cannot be compared. */
  readonly hidden: number;
  readonly nova: NovaTally | null;
}

/** Whether all compared rows are as planned, or explained by use since the hand-over. */
export function isEqual({ tally, nova }: Pick<Verified, "tally" | "nova">): boolean {
  const wrong = tally.mismatched + tally.missing + tally.extra + tally.suspended;
  return wrong === 0 && (nova === null || nova.before + nova.other === 0);
}

export function comparedOf(tally: Tally): number {
  const { validated, mismatched, missing, extra, suspended, used } = tally;
  return validated + mismatched + missing + extra + suspended + used;
}
