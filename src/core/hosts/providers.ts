/** What Placement has of a machine, in lower case. */
export interface MachineProvider {
  /** Uuids of resource providers that are called as the machine. */
  readonly uuids: readonly string[];
  /** Uuid of its live compute node; null where this Nova keeps none. */
  readonly compute: string | null;
}

/** By the uuid of the machine, lower case. */
export type ProvidersOf = (
  uuids: readonly string[],
) => Promise<ReadonlyMap<string, MachineProvider>>;

/**
 * What is wrong with the resource provider of a machine that Nova offers: there must be one, with the
 * uuid of the compute node. With another uuid it is never updated again.
 *
 * @source facts/rehearsal.md 4
 */
export function providerFaults(found: MachineProvider | undefined): readonly string[] {
  const { uuids, compute } = found ?? { uuids: [], compute: null };
  if (uuids.length === 0) return ["no resource provider in Placement is called as the machine"];
  if (compute === null || uuids.includes(compute)) return [];
  return [`its resource provider is ${uuids.join(" and ")}, its compute node ${compute}`];
}
