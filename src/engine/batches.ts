import { BATCH, regroup } from "../lib/streams.ts";
import type { Span } from "../model/journal.ts";

let most = BATCH;

/** Machines of Ironic, or rows of Nova, in one database transaction. */
export function inTransaction(): number {
  return most;
}

/** For tests, so that three transactions need ten machines instead of a thousand. */
export function cutSmaller(size: number): void {
  most = size;
}

export interface Batch<L> {
  readonly span: Span;
  readonly lines: readonly L[];
}

/**
 * The journal identifies a batch by its span, so each plan is cut the same way.
 * @param size maximum number of lines
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
