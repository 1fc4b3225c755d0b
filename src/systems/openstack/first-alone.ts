/** Runs work. The first gets a function that lets the others begin before it ends; the others get null. */
export type Alone = <T>(work: (passed: (() => void) | null) => Promise<T>) => Promise<T>;

/**
 * Runs the first work alone. The others begin when it calls `passed`, when it has ended or failed, or after `most`.
 *
 * @param most milliseconds that the others wait
 */
export function firstAlone(most: number): Alone {
  let first: Promise<unknown> | null = null;
  return async (work) => {
    if (first !== null) {
      await first;
      return work(null);
    }
    let begin = (): void => undefined;
    const others = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const own = work(() => begin());
    first = others;
    const late = setTimeout(begin, most);
    void others.then(() => clearTimeout(late));
    // Whoever does it hears of an error.
    own.then(begin, begin);
    return own;
  };
}
