import fc from "fast-check";

/**
 * How a property runs: the same cases each time, so that a failure is repeated. `N2I_RUNS` and `N2I_SEED` look at more
 * and at others; fast-check prints the seed of a failure.
 * @param usual cases without `N2I_RUNS`
 */
export function seeded(usual: number): { readonly seed: number; readonly numRuns: number } {
  const { N2I_SEED: seed = 2014, N2I_RUNS: runs = usual } = process.env;
  return { seed: Number(seed), numRuns: Number(runs) };
}

/** Looks at so many cases of a property of sampled values. */
export function holds<Ts extends [unknown, ...unknown[]]>(
  usual: number,
  ...property: Parameters<typeof fc.property<Ts>>
): void {
  fc.assert(fc.property(...property), seeded(usual));
}

/** The same, of one that takes its time. */
export function holdsLater<Ts extends [unknown, ...unknown[]]>(
  usual: number,
  ...property: Parameters<typeof fc.asyncProperty<Ts>>
): Promise<void> {
  return fc.assert(fc.asyncProperty(...property), { ...seeded(usual), includeErrorInReport: true });
}
