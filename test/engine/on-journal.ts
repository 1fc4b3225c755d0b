import type { WindowSession } from "../../src/engine/window.ts";
import { JOURNAL_FORMAT } from "../../src/model/journal.ts";
import { openJournal } from "../../src/run/files/journal.ts";
import type { RunFolder } from "../../src/run/files/run-folder.ts";

/**
 * Acts on a run's real journal, with a clock that stands still.
 *
 * @param most entries until the process dies; it says nothing more then
 */
export async function during(
  run: RunFolder,
  work: (session: WindowSession) => Promise<unknown>,
  most = Number.POSITIVE_INFINITY,
): Promise<void> {
  const journal = await openJournal(run);
  if (journal.entries().length === 0)
    await journal.append({ do: "open", format: JOURNAL_FORMAT, tool: "a test" });
  let left = most;
  const append: WindowSession["journal"]["append"] = (entry) => {
    left -= 1;
    return left < 0 ? Promise.reject(new Error("died")) : journal.append(entry);
  };
  try {
    await work({
      ...{ journal: { entries: journal.entries, append }, by: "a test" },
      ...{ now: () => "2026-01-01T00:00:00Z", stopping: () => false },
      clock: { now: () => 0, sleep: () => Promise.resolve() },
    });
  } catch (cause) {
    if (!(cause instanceof Error) || cause.message !== "died") throw cause;
  } finally {
    await journal.close();
  }
}
