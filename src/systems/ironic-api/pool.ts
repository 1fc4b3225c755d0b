/**
 * After a failure or an `enough` result, starts no other item, waits for the running ones, and
 * throws the first failure.
 */
export async function inFlight<T, R>(
  items: readonly T[],
  most: number,
  work: (item: T) => Promise<R>,
  enough: (result: R) => boolean = () => false,
): Promise<readonly R[]> {
  const results = new Map<number, R>();
  const failures: unknown[] = [];
  let next = 0;
  let full = false;
  const worker = async (): Promise<void> => {
    while (failures.length === 0 && !full) {
      const at = next;
      const item = items[at];
      if (item === undefined) return;
      next += 1;
      try {
        const result = await work(item);
        results.set(at, result);
        full ||= enough(result);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
  return [...results].toSorted(([left], [right]) => left - right).map(([, result]) => result);
}

/** Limits concurrency. Waiting work starts in order. */
export function gate(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  let free = most;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((go) => waiting.push(go));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

/**
 * Runs tasks. The first gets a function that starts the others, which get null. They also start
 * when it ends or fails, or after `most` milliseconds.
 */
export function firstAlone(most: number) {
  let first: Promise<unknown> | null = null;
  return async <T>(work: (passed: (() => void) | null) => Promise<T>): Promise<T> => {
    if (first !== null) {
      await first;
      return work(null);
    }
    let begin = (): void => undefined;
    const ready = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const result = work(() => begin());
    first = ready;
    const late = setTimeout(begin, most);
    void ready.then(() => clearTimeout(late));
    // The caller handles the error.
    result.then(begin, begin);
    return result;
  };
}
