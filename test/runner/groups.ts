import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** How long test files took when it was last recorded, in seconds; those under a second are not in it. */
export const RECORD = fileURLToPath(new URL("../../../test/runner/seconds.json", import.meta.url));

/** Test files that share a process, one after the other. */
export interface Group {
  readonly name: string;
  readonly files: readonly string[];
  readonly seconds: number;
}

/** What a group may last, so that none is still running when all others have ended. */
const GROUP_S = 90;
/** What a file takes that was never recorded. */
const UNKNOWN_S = 0.5;

/** What looks at its own process: its memory, its start, what keeps it alive, its password files. */
const ALONE =
  /^((start|pack)[.]|hostile.outlives|edge.ipmi.flood|edge.ipmitool|edge.disk.artefact-hostile|edge.process.at-exit|edge.leases.agent-long)/;

/**
 * What only a process has: deaths, signals, terminals, full disks, the package, README's own lines.
 * Each starts the program dozens of times, so a quick look leaves them to the whole suite.
 */
const PROCESSES =
  /^((pack|readme|staged)[.]|crash[/]|(boot|nova).crash|(hostile|power).stopped|hostile.(signals(-walk)?|terminal|disk)[.]|rehearse.killed|retire.drop)/;

/** What takes longer in the whole suite is not for a quick look either, but for the heart of it. */
const QUICK_S = 15;
const ALWAYS = "fixtures.test.js";

/** Whether a file is in the fast lane, which is to last two minutes. */
export function isQuick(
  file: string,
  recorded: ReadonlyMap<string, number> = recordedTimes(),
): boolean {
  return file === ALWAYS || (!PROCESSES.test(file) && (recorded.get(file) ?? 0) < QUICK_S);
}

/** Rooms by what their tests need, where that is not the folder's name. */
const ROOMS: readonly (readonly [room: string, files: RegExp])[] = [
  [
    "an Ironic each",
    /^(ironic.(rest-postgres|rows-postgres|rest-keystone)|proxy.real|node.real)[.]/,
  ],
  ["shared Ironics", /^(lab.)?ironic[/]/],
  ["units", /^(core|model|engine|stages|parts|report|runner|cli.print)[/]/],
  ["whole", /^[^/]+$/],
];
/** A process for each of them: more would only wait for one. */
const SHARED = { room: "shared Ironics", groups: 2 } as const;

/**
 * Puts files of a room together, so that the house is loaded, and warm, once for all of them; the
 * group that lasts longest comes first.
 */
export function groupsOf(
  files: readonly string[],
  recorded: ReadonlyMap<string, number> = recordedTimes(),
): readonly Group[] {
  const groups: { room: string; files: string[]; seconds: number }[] = [];
  for (const file of files.toSorted()) {
    const seconds = recorded.get(file) ?? UNKNOWN_S;
    const room = ALONE.test(file) ? file : roomOf(file);
    const same = groups.filter((one) => one.room === room);
    const open =
      room === SHARED.room ? lightest(same) : same.find((one) => one.seconds + seconds <= GROUP_S);
    if (open === undefined) groups.push({ room, files: [file], seconds });
    else {
      open.files.push(file);
      open.seconds += seconds;
    }
  }
  return groups
    .map(({ room, ...group }, at) => ({ ...group, name: `${room.replaceAll(" ", "-")}-${at}` }))
    .toSorted((a, b) => b.seconds - a.seconds);
}

/** That of the shared Ironics' groups with the least to do; undefined while there may be one more. */
function lightest<T extends Pick<Group, "seconds">>(groups: readonly T[]): T | undefined {
  if (groups.length < SHARED.groups) return undefined;
  return groups.toSorted((a, b) => a.seconds - b.seconds)[0];
}

/** How many of the shared Ironics these files work with at a time. */
export function sharing(files: readonly string[]): number {
  return Math.min(SHARED.groups, files.filter((file) => roomOf(file) === SHARED.room).length);
}

function roomOf(file: string): string {
  const known = ROOMS.find(([, files]) => files.test(file));
  return known?.[0] ?? file.slice(0, file.indexOf("/"));
}

function recordedTimes(): ReadonlyMap<string, number> {
  // The form is that of `record`.
  const times = JSON.parse(readFileSync(RECORD, "utf8")) as { readonly [file: string]: number };
  return new Map(Object.entries(times));
}
