/** Machines, or rows, that one statement asks about or one transaction changes. */
export const TOGETHER = 500;

/**
 * The same items in their order, `size` at a time; the last group may be smaller.
 *
 * @param weights a group ends too once its items weigh so much, however few they are
 */
export async function* regroup<T>(
  groups: AsyncIterable<readonly T[]>,
  size: number,
  weights?: { readonly of: (item: T) => number; readonly most: number },
): AsyncGenerator<readonly T[]> {
  let held: T[] = [];
  let weight = 0;
  for await (const group of groups) {
    for (const item of group) {
      held.push(item);
      if (weights !== undefined) weight += weights.of(item);
      if (held.length < size && (weights === undefined || weight < weights.most)) continue;
      yield held;
      held = [];
      weight = 0;
    }
  }
  if (held.length > 0) yield held;
}

/**
 * The same items in the same order, the next one begun while the caller works on the last: reading
 * and waiting overlap. One item is ahead, never more; it is settled before this ends.
 */
export async function* ahead<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  const source = items[Symbol.asyncIterator]();
  const begin = (): Promise<IteratorResult<T>> => {
    const next = source.next();
    next.catch(() => undefined); // thrown when it is awaited
    return next;
  };
  let next = begin();
  try {
    for (;;) {
      const { done, value } = await next;
      if (done === true) return;
      next = begin();
      yield value;
    }
  } finally {
    await next.catch(() => undefined);
    await source.return?.();
  }
}

/** Items that are all there, as one group; none where there are none. */
export async function* once<T>(items: readonly T[]): AsyncGenerator<readonly T[]> {
  if (items.length > 0) yield items;
}

/**
 * Awaits all of them. Where several fail it throws what the first in their order failed with, not the first in time:
 * what is said of a fault does not depend on who answers sooner.
 */
export async function inOrder<T extends readonly unknown[] | []>(
  works: T,
): Promise<{ -readonly [at in keyof T]: Awaited<T[at]> }> {
  await Promise.allSettled(works);
  return Promise.all(works);
}
