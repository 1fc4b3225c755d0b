import type { TestContext } from "node:test";
import { cutSmaller, inTransaction } from "../../src/engine/batches.ts";

/** Small enough that three batches take a moment, large enough that one has more than a first and a last. */
export const SMALL = 4;

let size: string | undefined;

/** For the time of a test, runs in this process and started by it have batches of a few machines. */
export function smallBatches(t: Pick<TestContext, "after">): void {
  const [named, most] = [size, inTransaction()];
  size = String(SMALL);
  cutSmaller(SMALL);
  t.after(() => {
    size = named;
    cutSmaller(most);
  });
}

/** The variables that tell a started tool of it. */
export function batchesHere(): { readonly [name: string]: string } {
  return size === undefined ? {} : { NOVA2IRONIC_BATCH: size };
}
