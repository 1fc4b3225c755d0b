import type { JournalEntry, TargetIdentity } from "../../model/artefact.ts";
import { MigrationError } from "../../model/error.ts";
import { type PlannedMachine, stepsOf } from "../../model/plan.ts";
import type { Lock, Met, Performed, Target } from "../../model/target.ts";
import { ahead } from "./ahead.ts";
import { halted, keptNothing, midway } from "./halt.ts";
import {
  hasEnded,
  isOurs,
  type Ledger,
  ledgerOf,
  type Stretch,
  stretchKey,
  wasBegun,
} from "./ledger.ts";
import { regroup } from "./regroup.ts";

/** What apply and undo need of the world. */
export interface Acting {
  readonly target: Target;
  readonly lock: Lock;
  readonly journal: {
    readonly entries: () => readonly JournalEntry[];
    readonly append: (entry: JournalEntry) => Promise<void>;
  };
  /** ISO 8601, UTC. */
  readonly now: () => string;
  /** Who acts, for the journal: `root@host pid 12`. */
  readonly by: string;
  /** The target loads machines in our maintenance. */
  readonly staged?: boolean;
  /** True once the operator asked to stop: the batch under way is finished, no other begun. */
  readonly stopping: () => boolean;
  /** Told after each batch: machines behind us. */
  readonly progress: (machines: number) => void;
  /** Asks machines once more right before they are loaded: bm_nodes.id -> why it is left out. */
  readonly recheck?: (machines: readonly PlannedMachine[]) => Promise<ReadonlyMap<number, string>>;
  /** Runs inside the first transaction; what it throws stops everything before the first write. */
  readonly guard: () => Promise<void>;
}

export interface Applied {
  /** Rows created now. */
  readonly created: number;
  /** Rows that were there as planned. */
  readonly found: number;
  /** Rows of ours that somebody changed since they were loaded; left alone. */
  readonly drifted: number;
  /** Machines that answered otherwise when they were asked once more. */
  readonly left: readonly { readonly machine: PlannedMachine; readonly why: string }[];
  /** Machines that did not get to where they should be; only where each goes alone. */
  readonly failed: readonly { readonly machine: PlannedMachine; readonly why: string }[];
  /** Stopped on request before the end. */
  readonly stopped: boolean;
  /** Why it ended amid a batch whose machines go one by one: to be thrown once the rest is told. */
  readonly broke: MigrationError | null;
}

const NOBODY: ReadonlyMap<number, string> = new Map();

/**
 * Machines of a plan in one stretch: a transaction on a database; over REST, where each machine
 * takes seconds, what is finished after Ctrl-C. The ledger knows stretches by their ends, so a plan
 * is cut the same way each time.
 */
export function batchOf({ engine }: Pick<TargetIdentity, "engine">): number {
  return engine === "rest" ? 64 : 500;
}

/** Cuts a stream of lines into stretches of at most `size` machines. */
export async function* stretches<T = PlannedMachine>(
  plan: AsyncIterable<readonly T[]>,
  size: number,
): AsyncGenerator<{
  readonly from: number;
  readonly to: number;
  readonly machines: readonly T[];
}> {
  let from = 0;
  for await (const machines of regroup(plan, size)) {
    yield { from, to: from + machines.length, machines };
    from += machines.length;
  }
}

/** Runs once: the checks that belong inside the first transaction. */
export function once(work: () => Promise<void>): () => Promise<void> {
  let done = false;
  return async () => {
    if (done) return;
    await work();
    done = true;
  };
}

/**
 * Performs a plan, batch by batch: begin in the journal, perform, done in the journal. Safe to run
 * again at any time: rows that are there as planned are found, not written.
 *
 * @param plan machine lines in the order of the plan
 * @param sha256 the plan's digest, by which the journal knows it
 * @throws MigrationError N2I-E300 before the first write; N2I-E301 when it stops midway, but where
 *   `broke` has it
 */
export async function apply(
  plan: AsyncIterable<readonly PlannedMachine[]>,
  sha256: string,
  acting: Acting,
): Promise<Applied> {
  const { target, lock, journal } = acting;
  const guard = once(acting.guard);
  /** What the guard looks at was as it should be: from here on something may be written. */
  let writing = false;
  const guarded = async (): Promise<void> => {
    await guard();
    writing = true;
  };
  // What is appended from here on speaks of stretches behind us.
  const ledger = ledgerOf(journal.entries(), sha256);
  let [created, found, drifted, machines] = [0, 0, 0, 0];
  const left: { readonly machine: PlannedMachine; readonly why: string }[] = [];
  const failed: { readonly machine: PlannedMachine; readonly why: string }[] = [];
  const size = batchOf(target.identity);
  const applied = (how: { readonly stopped?: true; readonly broke?: MigrationError }): Applied => ({
    ...{ created, found, drifted, left, failed },
    ...{ stopped: false, broke: null, ...how },
  });
  for await (const { from, to, machines: batch } of stretches(ahead(plan), size)) {
    if (acting.stopping()) return applied({ stopped: true });
    const loading = batch.filter((machine) => stepsOf(machine).length > 0);
    const otherwise = (await acting.recheck?.(loading)) ?? NOBODY;
    // What was not asked before the stop did not answer: nothing is loaded on its word.
    if (acting.stopping()) return applied({ stopped: true });
    for (const machine of loading) {
      const why = otherwise.get(machine.bm_node_id);
      if (why !== undefined) left.push({ machine, why });
    }
    const ours = new Set<string>();
    const steps = loading
      .filter(({ bm_node_id }) => !otherwise.has(bm_node_id))
      .flatMap((machine) => {
        const own = stepsOf(machine);
        for (const { id } of own)
          if (isOurs(ledger, { from, to }, machine.uuid ?? "", id)) ours.add(id);
        return own;
      });
    const others = (ids: readonly string[]): readonly string[] =>
      ids.filter((id) => !ours.has(id) && !ledger.foreign.has(id));
    const met = async ({ found, done, refused = [] }: Met): Promise<void> => {
      const about = { plan: sha256, from, to, at: acting.now() };
      const strange = (id: string): boolean => ledger.foreign.has(id) || ledger.refused.has(id);
      const rows = { found: others(found), taken: done.filter(strange) };
      if (rows.found.length + rows.taken.length > 0)
        await journal.append({ do: "met", ...about, ...rows });
      if (refused.length > 0)
        await journal.append({ do: "void", ...about, why: "refused", rows: refused });
    };
    if (steps.length > 0) {
      try {
        await lock.check();
        const again = wasBegun(ledger, { from, to });
        // Before the stretch is begun: what is left out of it must never count as made by us.
        const out = loading
          .filter(({ bm_node_id }) => otherwise.has(bm_node_id))
          .flatMap((machine) =>
            stepsOf(machine).map(({ id }) => ({ id, uuid: machine.uuid ?? "" })),
          )
          .filter(({ id, uuid }) => !isOurs(ledger, { from, to }, uuid, id));
        if (out.length > 0) {
          const about = { plan: sha256, from, to, at: acting.now(), why: "left out" };
          await journal.append({ do: "void", ...about, rows: out.map(({ id }) => id) });
        }
        await journal.append({
          do: "begin",
          plan: sha256,
          from,
          to,
          at: acting.now(),
          by: acting.by,
          ...(acting.staged && { staged: true as const }),
        });
        // Without a word, what another run loaded would be found as ours the next time.
        const takeBack = async ({ code: why }: MigrationError): Promise<void> => {
          if (again) return;
          await journal
            .append({ do: "void", plan: sha256, from, to, at: acting.now(), why })
            .catch(() => undefined); // the first failure is the one to tell
        };
        const ended = (node: string): boolean => hasEnded(ledger, { from, to }, node);
        const perform = target.perform(steps, (id) => ours.has(id), guarded, met, ended);
        const performed = await perform.catch(async (cause) => {
          if (keptNothing(cause) || (!writing && cause instanceof MigrationError))
            await takeBack(cause);
          throw cause;
        });
        // From here on something is kept, whatever becomes of the journal.
        created += performed.done.length;
        found += performed.found.length;
        drifted += performed.left.length;
        for (const { uuid, why } of performed.failed ?? [])
          for (const machine of loading)
            if (machine.uuid?.toLowerCase() === uuid) failed.push({ machine, why });
        // Its end is not recorded: the next run asks the target how far each machine came.
        if (performed.broke !== undefined) {
          const { cause, behind, untouched = false } = performed.broke;
          if (untouched) await takeBack(cause);
          const none = untouched && !again && created === 0;
          return applied({ broke: none ? cause : halted("apply", machines + behind, cause) });
        }
        await journal.append({
          do: "done",
          plan: sha256,
          from,
          to,
          at: acting.now(),
          created: performed.done.length + unrecorded(performed, ours, ledger, { from, to }),
          found: others(performed.found),
          ...(performed.failed !== undefined && {
            failed: performed.failed.map(({ uuid }) => uuid),
          }),
        });
      } catch (cause) {
        if (!writing) throw cause;
        throw midway("apply", machines, created > 0, cause);
      }
    }
    machines += batch.length;
    acting.progress(machines);
  }
  return applied({});
}

/** Rows a run before created and did not live to record: those it finds there now. */
function unrecorded(
  { found, left }: Performed,
  ours: ReadonlySet<string>,
  ledger: Ledger,
  stretch: Stretch,
): number {
  const there = [...found, ...left.map(({ id }) => id)].filter((id) => ours.has(id));
  return Math.max(0, there.length - (ledger.rows.get(stretchKey(stretch)) ?? 0));
}
