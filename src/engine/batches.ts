import { regroup, TOGETHER } from "../lib/streams.ts";
import type { Span } from "../model/journal.ts";

let most = TOGETHER;

/** Machines of Ironic, or rows of Nova, in one transaction of a database. */
export function inTransaction(): number {
  return most;
}

/** For tests of what happens between transactions: three of them need ten machines, not a thousand. */
export function cutSmaller(size: number): void {
  most = size;
}

/** Lines of a plan that are performed together. */
export interface Batch<L> {
  readonly span: Span;
  readonly lines: readonly L[];
}

/**
 * Cuts a plan's lines into batches. The journal knows a batch by its ends, so a plan is cut the same
 * way each time.
 *
 * @param size lines of a batch at most
 */
export async function* batches<L>(
  lines: AsyncIterable<readonly L[]>,
  size: number,
): AsyncGenerator<Batch<L>> {
  let from = 0;
  for await (const group of regroup(lines, size)) {
    yield { span: { from, to: from + group.length }, lines: group };
    from += group.length;
  }
}
