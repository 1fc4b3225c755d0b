import { SMALL } from "../support/batches.ts";

/** The fleet of the matrix: three batches, two rows a machine. */
export const BATCHES = [SMALL, SMALL, 2] as const;
export const MACHINES = 2 * SMALL + 2;

/** A moment at which a run is ended, and what must be true of it then. */
export interface Point {
  /** As the failpoint has it: `commit.after:2`. */
  readonly name: string;
  /** Batches whose end is recorded. */
  readonly recorded: number;
  /** Batches the target kept. */
  readonly kept: number;
  /** Whether a batch was begun and its end is not recorded. */
  readonly open: boolean;
}

function around(entry: string, n: number, begun: string): readonly Point[] {
  const before = { recorded: n - 1, kept: n - 1 };
  return [
    { name: `${begun}.before:${n}`, ...before, open: false },
    { name: `${begun}.after:${n}`, ...before, open: true },
    { name: `commit.before:${n}`, ...before, open: true },
    { name: `commit.after:${n}`, recorded: n - 1, kept: n, open: true },
    { name: `${entry}.before:${n}`, recorded: n - 1, kept: n, open: true },
    { name: `${entry}.after:${n}`, recorded: n, kept: n, open: false },
  ];
}

const OPENING: readonly Point[] = ["open.before:1", "open.after:1"].map((name) => ({
  name,
  ...{ recorded: 0, kept: 0, open: false },
}));

/** Every moment of an apply: before and after each journal entry and each commit. */
export const APPLYING = [...OPENING, ...[1, 2, 3].flatMap((n) => around("done", n, "begin"))];

/** Every moment of a rollback. */
export const UNDOING = [1, 2, 3].flatMap((n) => around("undone", n, "undo"));

/**
 * Every kind of moment once: the second batch has one before it and one after. The moments of all
 * batches are in engine/execute.test, on a part in memory.
 */
export function isOnce({ name }: Pick<Point, "name">): boolean {
  return /(?:^|\.)open\./.test(name) || name.endsWith(":2");
}

/** Rows of the first `batches` batches. */
export function rowsOf(batches: number): number {
  return BATCHES.slice(0, batches).reduce<number>((sum, machines) => sum + 2 * machines, 0);
}
