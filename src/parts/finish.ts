import { clearedFields, dutyOf, type GuardedNode, guardsOf } from "../core/release/guards.ts";
import type { Trouble } from "../core/release/planned.ts";
import type { MigrationError } from "../model/error.ts";
import {
  FINISH,
  type FinishEntry,
  type Guard,
  type Guarded,
  type Guards,
} from "../model/finish.ts";
import { iso } from "./hand-over.ts";
import { type Walking, walk } from "./one-by-one.ts";
import { lockedOut } from "./restage.ts";

/** What finish needs of the world. */
export interface Finishing extends Walking {
  readonly guard: Guard;
  readonly journal: {
    readonly entries: () => readonly FinishEntry[];
    readonly append: (entry: FinishEntry) => Promise<void>;
  };
  readonly by: string;
  /** Told of machines behind us. */
  readonly progress: (machines: number) => void;
}

export interface Finished {
  /** Machines that were changed now. */
  readonly changed: number;
  /** Machines that are as they should be without us. */
  readonly fine: number;
  /** Of those, machines that the plan holds in maintenance: they keep a guard. */
  readonly held: number;
  /** Machines in use that no conductor has taken over. */
  readonly untaken: number;
  /** Nodes of the run that are not in Ironic. */
  readonly gone: readonly string[];
  readonly left: readonly Trouble[];
  readonly stopped: boolean;
  /** Why it ended after a machine was begun: to be thrown once the rest is told. */
  readonly broke: MigrationError | null;
}

/** What to do with a machine as it is now: a change, that it is fine, or why it is left. */
type Next =
  | { readonly change: Partial<Guards>; readonly held: boolean }
  | { readonly fine: true; readonly held: boolean }
  | { readonly gone: true; readonly optional: boolean }
  | { readonly left: Omit<Trouble, "uuid" | "bm_node_id"> };

/**
 * Clears what guarded machines until Nova manages them. Each is looked at right before it is changed
 * and changed only while it is as it was seen, so that it is safe to run again, and others' guards stay.
 *
 * @throws MigrationError when something breaks before the first is begun, else as `broke`
 */
export function finish(
  plan: AsyncIterable<readonly GuardedNode[]>,
  finishing: Finishing,
): Promise<Finished> {
  const next = (node: GuardedNode, found: Guarded | undefined): Next => {
    const duty = dutyOf(node, found);
    switch (duty.do) {
      case "clear":
        return { change: duty.change, held: duty.held };
      case "staged":
        return { left: { standing: "staged", why: "still staged", fix: "Run release first." } };
      case "nothing":
        return { fine: true, held: duty.held };
      case "gone":
        return { gone: true, optional: node.optional === true };
    }
  };
  return each(plan, "finish", finishing, next, {
    before: (node, change) => ({
      part: FINISH,
      do: "unguard",
      node,
      fields: Object.keys(change),
      ...now(),
    }),
    after: null,
  });

  function now(): { readonly at: string; readonly by: string } {
    return { at: iso(finishing.clock.now()), by: finishing.by };
  }
}

/**
 * Guards machines again that this run cleared, each field only while it is as finish left it and the
 * machine has the instance it was loaded with. Safe to run again.
 *
 * @throws MigrationError when something breaks before the first is begun, else as `broke`
 */
export function unfinish(
  plan: AsyncIterable<readonly GuardedNode[]>,
  finishing: Finishing,
): Promise<Finished> {
  const cleared = clearedFields(finishing.journal.entries());
  const ours = async function* (): AsyncGenerator<readonly GuardedNode[]> {
    for await (const batch of plan) yield batch.filter(({ uuid }) => cleared.has(uuid));
  };
  const next = (node: GuardedNode, found: Guarded | undefined): Next => {
    if (found === undefined) return { fine: true, held: false };
    const wanted = guardsOf(node, cleared.get(node.uuid) ?? new Set());
    const change: Partial<Guards> = {
      ...(wanted.protected === true && !found.protected && guard(wanted)),
      ...(wanted.automated_clean === false &&
        found.automated_clean === null && { automated_clean: false }),
    };
    if (Object.keys(change).length === 0) return { fine: true, held: false };
    const other = otherUse(node, found);
    if (other === null) return { change, held: false };
    return {
      left: { standing: "failed", why: other, fix: "Protect it yourself, if it is to be." },
    };
  };
  return each(ours(), "finish --undo", finishing, next, {
    before: null,
    after: (node) => ({
      part: FINISH,
      do: "guard",
      node,
      at: iso(finishing.clock.now()),
      by: finishing.by,
    }),
  });
}

function guard({ protected_reason = null }: Partial<Guards>): Partial<Guards> {
  return { protected: true, protected_reason };
}

/** Why a machine is no longer the one that was guarded; null when it is. */
function otherUse({ row }: GuardedNode, found: Guarded): string | null {
  const planned = row.instance_uuid ?? null;
  if (found.provision_state !== row.provision_state)
    return `it is ${String(found.provision_state)} now`;
  return found.instance_uuid === planned ? null : "it has another instance now";
}

interface Entries {
  /** Written before a machine is changed. */
  readonly before: ((node: string, change: Partial<Guards>) => FinishEntry) | null;
  /** Written once it is as wanted. */
  readonly after: ((node: string) => FinishEntry) | null;
}

async function each(
  plan: AsyncIterable<readonly GuardedNode[]>,
  what: string,
  finishing: Finishing,
  next: (node: GuardedNode, found: Guarded | undefined) => Next,
  { before, after }: Entries,
): Promise<Finished> {
  const { guard, journal, progress } = finishing;
  const left: Trouble[] = [];
  const gone: string[] = [];
  let [changed, fine, held, behind] = [0, 0, 0, 0];
  /** What was seen of a batch; each is looked at once more before it is changed again. */
  let seen: ReadonlyMap<string, Guarded> = new Map();
  const looked = new Set<string>();
  const untaken = new Set<string>();
  const batches = async function* (): AsyncGenerator<readonly GuardedNode[]> {
    for await (const batch of plan) {
      seen = await guard.observe(batch.map(({ uuid }) => uuid));
      yield batch;
    }
  };
  const look = async (uuid: string): Promise<Guarded | undefined> => {
    if (looked.has(uuid)) return (await guard.observe([uuid])).get(uuid);
    looked.add(uuid);
    return seen.get(uuid);
  };
  const one = async (node: GuardedNode): Promise<string | null> => {
    const { uuid, bm_node_id } = node;
    const found = await look(uuid);
    const todo = next(node, found);
    if (found?.taken === false && isTakenOver(node)) untaken.add(uuid);
    else untaken.delete(uuid);
    if ("left" in todo) left.push({ ...todo.left, uuid, bm_node_id });
    else if ("gone" in todo) {
      if (!todo.optional) gone.push(uuid);
    } else if ("change" in todo && found !== undefined) {
      if (found.reservation !== null) return found.reservation;
      if (before !== null) await journal.append(before(uuid, todo.change));
      const written = await guard.write(uuid, found, todo.change);
      if (written === "again") return "somebody";
      if (written === "done") {
        changed += 1;
        if (todo.held) held += 1;
        if (after !== null) await journal.append(after(uuid));
      } else left.push({ standing: "failed", why: written.why, fix: AGAIN, uuid, bm_node_id });
    } else {
      fine += 1;
      if ("held" in todo && todo.held) held += 1;
      if (after !== null) await journal.append(after(uuid));
    }
    behind += 1;
    progress(behind);
    return null;
  };
  const walked = await walk(batches(), what, finishing, one, () => ({ behind, changed }));
  left.push(...walked.locked.map(([node, holder]) => lockedOut(node, holder)));
  const { stopped, broke } = walked;
  return { changed, fine, held, untaken: untaken.size, gone, left, stopped, broke };
}

/** Whether a conductor takes a machine over by itself, as it is planned. */
function isTakenOver({ row }: GuardedNode): boolean {
  return row.provision_state === "active" && row.maintenance !== true;
}

const AGAIN = "Run the same command again.";
