/**
 * How a property runs: the same cases each time, so that a failure is repeated. `N2I_RUNS` and
 * `N2I_SEED` look at more and at others; fast-check prints the seed of a failure.
 *
 * @param usual cases without `N2I_RUNS`
 */
export function seeded(usual: number): { readonly seed: number; readonly numRuns: number } {
  const { N2I_SEED: seed = 2014, N2I_RUNS: runs = usual } = process.env;
  return { seed: Number(seed), numRuns: Number(runs) };
}
