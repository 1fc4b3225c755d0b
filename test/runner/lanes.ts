import type { Equipped } from "../lab/packages.ts";

/** What the runner starts for a lane before its tests: `ironic` runs on the MariaDB. */
export type LaneServer = "mariadb" | "postgres" | "ironic";

export interface Lane {
  readonly name: "default" | Exclude<Equipped, "rehearsal">;
  /** Ending of its test files, before `.test.ts`. */
  readonly ending: string;
  readonly servers: readonly LaneServer[];
  /** Test files at a time for each processor; at least one. */
  readonly perProcessor: number;
  /** What ends a file that hangs, in seconds. */
  readonly guard: number;
}

export const LANES: readonly Lane[] = [
  { name: "default", ending: "", servers: [], perProcessor: 1.5, guard: 60 },
  {
    name: "databases",
    ending: ".db",
    servers: ["mariadb", "postgres"],
    perProcessor: 1,
    guard: 300,
  },
  {
    name: "services",
    ending: ".ironic",
    servers: ["mariadb", "postgres", "ironic"],
    perProcessor: 1,
    guard: 900,
  },
  {
    name: "deaths",
    ending: ".death",
    servers: ["mariadb", "postgres"],
    perProcessor: 1,
    guard: 900,
  },
  // Each of its files starts a cloud of its own, so one at a time.
  { name: "clouds", ending: ".cloud", servers: ["mariadb"], perProcessor: 0, guard: 2400 },
];

/** Files `x.long.ironic.test.ts` run with `--all` only. */
const LONG = ".long.";

/** The test files of a lane among these compiled ones. */
export function filesOf(lane: Lane, files: readonly string[], all: boolean): readonly string[] {
  return files.filter((file) => laneOf(file) === lane && (all || !file.includes(LONG)));
}

/** The lane of `nova/api.db.test.js`, by its ending. */
export function laneOf(file: string): Lane {
  const [, ending = ""] = /(\.(?:db|ironic|death|cloud))?\.test\.js$/.exec(file) ?? [];
  const found = LANES.find((lane) => lane.ending === ending);
  if (found === undefined) throw new Error(`${file} has the name of no test`);
  return found;
}

/** Deals files out to so many processes, so that the files of one folder are in different ones. */
export function dealt(files: readonly string[], processes: number): readonly (readonly string[])[] {
  const count = Math.min(processes, files.length);
  return Array.from({ length: count }, (_, at) => files.filter((_file, of) => of % count === at));
}
