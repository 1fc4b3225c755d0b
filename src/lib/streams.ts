/** Machines, or rows, for each statement or transaction. */
export const BATCH = 500;

/** The last group may be smaller. @param weights a group also ends if its items weigh so much */
export async function* regroup<T>(
  groups: AsyncIterable<readonly T[]>,
  size: number,
  weights?: { readonly of: (item: T) => number; readonly most: number },
): AsyncGenerator<readonly T[]> {
  let buffer: T[] = [];
  let weight = 0;
  for await (const group of groups) {
    for (const item of group) {
      buffer.push(item);
      if (weights !== undefined) weight += weights.of(item);
      if (buffer.length < size && (weights === undefined || weight < weights.most)) continue;
      yield buffer;
      buffer = [];
      weight = 0;
    }
  }
  if (buffer.length > 0) yield buffer;
}

/**
 * The same items in order. Reads one item in advance while the caller works, so that reading and
 * waiting overlap. The pending read settles before the generator ends.
 */
export async function* prefetch<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  const source = items[Symbol.asyncIterator]();
  const begin = (): Promise<IteratorResult<T>> => {
    const next = source.next();
    next.catch(() => undefined); // rethrown when awaited
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

/** The items as one group. No group if there are none. */
export async function* once<T>(items: readonly T[]): AsyncGenerator<readonly T[]> {
  if (items.length > 0) yield items;
}

/** Awaits all, so that of several errors always the first in list order is thrown. */
export async function inOrder<T extends readonly unknown[] | []>(
  works: T,
): Promise<{ -readonly [at in keyof T]: Awaited<T[at]> }> {
  await Promise.allSettled(works);
  return Promise.all(works);
}
