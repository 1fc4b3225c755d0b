import { MigrationError } from "../../model/error.ts";
import {
  NOVA_PARTS,
  type NovaEntry,
  type NovaLine,
  type NovaPart,
  type NovaPlanCounts,
  type NovaStep,
  type NovaTarget,
  stepsBefore,
} from "../../model/nova-plan.ts";
import type { Lock, Performed } from "../../model/target.ts";
import { once, stretches } from "./apply.ts";
import { keptNothing } from "./halt.ts";
import { isOurs, type Ledger, ledgerOf, type Stretch, stretchKey, wasBegun } from "./ledger.ts";
import { waiting } from "./shared-rows.ts";

/** What changing Nova's rows needs of the world. */
export interface NovaActing {
  readonly target: NovaTarget;
  readonly lock: Lock;
  readonly journal: {
    readonly entries: () => readonly NovaEntry[];
    readonly append: (entry: NovaEntry) => Promise<void>;
  };
  /** ISO 8601, UTC. */
  readonly now: () => string;
  readonly by: string;
  readonly stopping: () => boolean;
  /** Runs inside the first transaction; what it throws stops everything before the first write. */
  readonly guard: () => Promise<void>;
}

/** A plan for Nova: its lines, its digest and how many they are. */
export interface NovaPlan {
  readonly lines: () => AsyncIterable<readonly NovaLine[]>;
  readonly sha256: string;
  readonly counts: NovaPlanCounts;
}

export interface NovaDone {
  readonly done: number;
  readonly found: number;
  readonly left: Performed["left"];
  readonly stopped: boolean;
}

/** Rows in one transaction. */
const BATCH = 500;
/** Rows a message names; the others are counted. */
const NAMED = 5;

/** What the journal says of one plan for Nova. */
export function novaLedger(entries: readonly NovaEntry[], sha256: string): Ledger {
  return ledgerOf(
    entries.filter((entry) => entry.do !== "open"),
    sha256,
  );
}

/** Whether a row that is as after its step was made so by us. */
export function isNovaOurs(ledger: Ledger, stretch: Stretch, { machine, id }: NovaStep): boolean {
  return isOurs(ledger, stretch, machine ?? "", id);
}

/**
 * Stretches of a part, by their positions among all lines. Rows that machines share come last in it,
 * and apart: what becomes of them depends on what became of the others.
 */
export async function* novaStretches(
  { lines, counts }: NovaPlan,
  part: NovaPart,
): AsyncGenerator<{ readonly stretch: Stretch; readonly steps: readonly NovaStep[] }> {
  let offset = stepsBefore(part, counts);
  for (const shared of [false, true]) {
    const own = async function* (): AsyncGenerator<readonly NovaStep[]> {
      for await (const batch of lines())
        yield batch.filter(
          (line): line is NovaStep =>
            "table" in line && line.part === part && (line.machine === null) === shared,
        );
    };
    let end = 0;
    for await (const { from, to, machines } of stretches<NovaStep>(own(), BATCH)) {
      yield { stretch: { from: from + offset, to: to + offset }, steps: machines };
      end = to;
    }
    offset += end;
  }
}

/**
 * Looks at every row of a plan before the first is written: a row that somebody changed in the last
 * batch must not be met when the others are changed. Batches begun before are compared one by one.
 *
 * @throws MigrationError N2I-E300 naming the rows
 */
export async function lookAtNova(
  plan: NovaPlan,
  { target, journal }: Pick<NovaActing, "target" | "journal">,
): Promise<void> {
  const ledger = novaLedger(journal.entries(), plan.sha256);
  const stale: string[] = [];
  for (const part of NOVA_PARTS)
    for await (const { stretch, steps } of novaStretches(plan, part)) {
      if (wasBegun(ledger, stretch)) continue;
      for (const { id, is, why } of await target.look(steps))
        if (is === "other") stale.push(`${id} ${why}`);
    }
  if (stale.length > 0)
    throw new MigrationError(
      "N2I-E300",
      `${stale.length} rows of nova are not as planned: ${stale.slice(0, NAMED).join("; ")}`,
    );
}

/**
 * Performs a part of a plan, batch by batch: begin in the journal, perform, done in the journal. Safe
 * to run again: rows that are as planned are found, not written.
 *
 * @param leaving machines that were left out of the load
 * @throws MigrationError N2I-E300 before the first write; N2I-E301 when it stops midway
 */
export async function applyNova(
  plan: NovaPlan,
  part: NovaPart,
  acting: NovaActing,
  leaving: ReadonlySet<string | null> = new Set(),
): Promise<NovaDone> {
  const { target, lock, journal } = acting;
  const guard = once(acting.guard);
  const ledger = novaLedger(journal.entries(), plan.sha256);
  const left: { readonly id: string; readonly why: string }[] = [];
  let [done, found] = [0, 0];
  for await (const { stretch, steps: all } of novaStretches(plan, part)) {
    if (acting.stopping()) return { done, found, left, stopped: true };
    const ours = new Set(
      all.filter((step) => isNovaOurs(ledger, stretch, step)).map(({ id }) => id),
    );
    const waits = await waiting(
      all.filter(({ id }) => !ours.has(id)),
      "apply",
      target.use,
    );
    const steps = all.filter(
      ({ id, machine }) => (machine === null || !leaving.has(machine)) && !waits.has(id),
    );
    for (const [id, why] of waits) left.push({ id, why });
    if (steps.length === 0) continue;
    const out = all.filter((step) => !steps.includes(step) && !ours.has(step.id));
    const others = (ids: readonly string[]): readonly string[] =>
      ids.filter((id) => !ours.has(id) && !ledger.foreign.has(id));
    const about = { plan: plan.sha256, ...stretch };
    try {
      await lock.check();
      const again = wasBegun(ledger, stretch);
      // Before the stretch is begun: what is left out of it must never count as done by us.
      if (out.length > 0) {
        const rows = out.map(({ id }) => id);
        await journal.append({ do: "void", ...about, at: acting.now(), why: "left out", rows });
      }
      await journal.append({ do: "begin", ...about, at: acting.now(), by: acting.by });
      const met = async (seen: Performed): Promise<void> => {
        const taken = seen.done.filter((id) => ledger.foreign.has(id) || ledger.refused.has(id));
        const strange = others(seen.found);
        if (strange.length + taken.length > 0)
          await journal.append({ do: "met", ...about, at: acting.now(), found: strange, taken });
      };
      const performed = await target
        .perform(steps, (id) => ours.has(id), guard, met)
        .catch(async (cause: unknown) => {
          if (!again && keptNothing(cause))
            await journal
              .append({ do: "void", ...about, at: acting.now(), why: cause.code })
              .catch(() => undefined); // the first failure is the one to tell
          throw cause;
        });
      done += performed.done.length;
      found += performed.found.length;
      left.push(...performed.left);
      const there = [...performed.found, ...performed.left.map(({ id }) => id)];
      const before = ledger.rows.get(stretchKey(stretch)) ?? 0;
      const unrecorded = Math.max(0, there.filter((id) => ours.has(id)).length - before);
      await journal.append({
        ...{ do: "done", ...about, at: acting.now() },
        created: performed.done.length + unrecorded,
        found: others(performed.found),
      });
    } catch (cause) {
      throw halfway("apply", done, cause);
    }
  }
  return { done, found, left, stopped: false };
}

/** A failure after something was, or may have been, kept says so first. */
export function halfway(what: string, rows: number, cause: unknown): unknown {
  if (!(cause instanceof MigrationError) || (rows === 0 && keptNothing(cause))) return cause;
  return new MigrationError(
    "N2I-E301",
    `${what} stopped after ${rows} rows of nova: ${cause.code} ${cause.message}`,
    { cause },
  );
}
