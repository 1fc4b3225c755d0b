/** Runs tasks. The first task gets a function that starts the others, which get null. */
type Alone = <T>(work: (passed: (() => void) | null) => Promise<T>) => Promise<T>;

/** The others start when the first calls `passed`, ends or fails, or after `most` milliseconds. */
export function firstAlone(most: number): Alone {
  let first: Promise<unknown> | null = null;
  return async (work) => {
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
