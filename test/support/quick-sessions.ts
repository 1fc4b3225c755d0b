import type { TestContext } from "node:test";
import { runBy } from "../../src/run/session.ts";

/** Commands of this process that act wait by a clock that only waiting moves; `meanwhile` happens at each wait. */
export function quickSessions(
  t: Pick<TestContext, "after">,
  meanwhile: () => void = () => undefined,
): void {
  let now = 0;
  t.after(() => runBy(null));
  runBy({
    now: () => now,
    sleep: (milliseconds) => {
      now += milliseconds;
      meanwhile();
      return Promise.resolve();
    },
  });
}
