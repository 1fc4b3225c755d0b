import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../engine/part.ts";
import type { WindowSession } from "../engine/window.ts";
import type { JsonObject } from "../lib/json.ts";
import type { TargetIdentity } from "../model/artefact.ts";
import type { Lock } from "../model/ironic/target.ts";
import type { Entries, Entry } from "../model/journal.ts";
import { JOURNAL_FORMAT, targetOf } from "../model/journal.ts";
import { withFailpoints } from "./failpoint.ts";
import { type Journal, openJournal } from "./files/journal.ts";
import type { RunFolder } from "./files/run-folder.ts";
import { enterWindow, resultOf } from "./files/window-file.ts";
import { type Interrupt, processContext, type ServiceSignals } from "./process-context.ts";
import { VERSION, whoami } from "./version.ts";

/** Journal, clock and Ctrl-C of a command that makes changes. */
export interface RunSession extends WindowSession {
  readonly journal: {
    readonly entries: () => Entries;
    readonly append: (entry: Entry) => Promise<void>;
  };
  /** Aborted when the operator requests a stop. */
  readonly signal: AbortSignal;
  /**
   * Must precede any change. The first call opens the journal, and Ctrl-C no longer ends the
   * process. Earlier refusals leave nothing.
   * @param system changed system, with its identity
   */
  readonly begin: (
    system: string,
    target: object,
    how?: { readonly staged: boolean },
  ) => Promise<void>;
}

const REAL: Clock = { now: Date.now, sleep };
let clock = REAL;

/** Clock of this process for slow tests. Null: the real one. */
export function runBy(replacement: Clock | null): void {
  clock = replacement ?? REAL;
}

/**
 * Runs a command that makes changes, with one journal for all parts.
 * @param how.afterWindow the changes come after the window, and disturb no tenant
 * @param how.service signal handling of a service
 */
export async function withSession<T>(
  run: RunFolder,
  work: (session: RunSession) => Promise<T>,
  {
    afterWindow = false,
    service,
  }: { readonly afterWindow?: boolean; readonly service?: ServiceSignals } = {},
): Promise<T> {
  let interrupt: Interrupt | undefined;
  let journal: Journal | undefined;
  let exitWindow: ((result: string) => void) | undefined;
  const opened = (): Journal => {
    if (journal === undefined) throw new Error("the journal is opened by begin");
    return journal;
  };
  const now = (): string => new Date().toISOString();
  try {
    const done = await work({
      clock,
      ...{ now, by: whoami(), stopping: () => interrupt?.stopping() === true },
      get signal() {
        interrupt ??= processContext().onInterrupt(service);
        return interrupt.signal;
      },
      journal: { entries: () => opened().entries(), append: (entry) => opened().append(entry) },
      async begin(system, target, how) {
        if (!afterWindow) exitWindow ??= await enterWindow(run, run.command ?? "a command");
        interrupt ??= processContext().onInterrupt(service);
        journal ??= withFailpoints(await openJournal(run));
        const entries = journal.entries();
        if (entries.length === 0)
          await journal.append({ do: "open", format: JOURNAL_FORMAT, tool: VERSION });
        if (targetOf(entries, system) !== undefined) return;
        const staged = how?.staged === true && { staged: true as const };
        const identity = target as JsonObject; // an identity has texts and numbers
        await journal.append({ do: "target", system, target: identity, ...staged, at: now() });
      },
    });
    exitWindow?.(interrupt?.stopping() === true ? "stopped" : "done");
    return done;
  } catch (cause) {
    exitWindow?.(resultOf(cause));
    throw cause;
  } finally {
    interrupt?.end();
    await journal?.close();
  }
}

export async function withLocked<T>(
  run: RunFolder,
  lock: Lock,
  part: string,
  target: TargetIdentity,
  work: (session: RunSession) => Promise<T>,
): Promise<T> {
  try {
    return await withSession(run, async (session) => {
      await session.begin(part, target);
      return work(session);
    });
  } finally {
    await lock.release();
  }
}
