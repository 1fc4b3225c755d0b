import { SMALL } from "../support/batches.ts";

/** The fleet of the matrix: three batches, two rows a machine. */
export const BATCHES = [SMALL, SMALL, 2] as const;
export const MACHINES = 2 * SMALL + 2;

/** A moment at which a run is ended, and what must be true of it then. */
export interface Point {
  /** As the failpoint has it: `commit.after:2`. */
  readonly name: string;
  readonly recorded: number;
  readonly kept: number;
  readonly open: boolean;
}

/** The moments of the second batch, which has one before it and one after. */
function around(entry: string, begun: string): readonly Point[] {
  const before = { recorded: 1, kept: 1 };
  return [
    { name: `${begun}.before:2`, ...before, open: false },
    { name: `${begun}.after:2`, ...before, open: true },
    { name: "commit.before:2", ...before, open: true },
    { name: "commit.after:2", recorded: 1, kept: 2, open: true },
    { name: `${entry}.before:2`, recorded: 1, kept: 2, open: true },
    { name: `${entry}.after:2`, recorded: 2, kept: 2, open: false },
  ];
}

/**
 * Every kind of moment of an apply: before and after each journal entry and each commit. Those of
 * all batches are in engine/execute.test, on a part in memory.
 */
export const APPLYING: readonly Point[] = [
  ...["open.before:1", "open.after:1"].map((name) => ({
    ...{ name, recorded: 0, kept: 0, open: false },
  })),
  ...around("done", "begin"),
];

export const UNDOING = around("undone", "undo");

/** Rows of the first `batches` batches. */
export function rowsOf(batches: number): number {
  return BATCHES.slice(0, batches).reduce<number>((sum, machines) => sum + 2 * machines, 0);
}
