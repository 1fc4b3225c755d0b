import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Verdict } from "./claim.ts";
import type { ObservedState } from "./seen.ts";
import type { Spent } from "./timing.ts";

/** What became of one rehearsal. */
export interface Judged {
  readonly name: string;
  readonly folder: string;
  readonly verdicts: readonly Verdict[];
  /** MiB that the whole cloud held at most. */
  readonly cloud: number;
  /** MiB that each command of the product held at most, by its name. */
  readonly commands: { readonly [command: string]: number };
}

/** How much memory a rehearsal took. */
export function memoryOf({ held, ran }: ObservedState): Pick<Judged, "cloud" | "commands"> {
  const commands: { [command: string]: number } = {};
  for (const { words, peak } of ran) {
    const [command = ""] = words;
    commands[command] = Math.max(commands[command] ?? 0, peak);
  }
  return { cloud: held, commands };
}

/**
 * TAP on stdout, and both forms in the folder.
 *
 * @returns the exit status
 */
export function report(
  folder: string,
  rehearsals: readonly Judged[],
  phases: readonly Spent[],
  about: readonly string[],
): number {
  const all = rehearsals.flatMap(({ name, verdicts }) =>
    verdicts.map((one) => ({ ...one, name: `${name}: ${one.name}` })),
  );
  const lines = all.flatMap(({ name, result, why }, at) => [
    `${result === "holds" ? "ok" : "not ok"} ${at + 1} - ${name}`,
    ...(result === "holds" ? [] : [`  ---`, `  result: ${result}`]),
    ...why.slice(0, 20).map((line) => `  - ${JSON.stringify(line)}`),
    ...(result === "holds" ? [] : ["  ..."]),
  ]);
  const sum = (of: "seconds" | "processor") => phases.reduce((all, one) => all + one[of], 0);
  const whole = { name: "in all", seconds: sum("seconds"), processor: sum("processor") };
  const spent = [...phases, whole].map(({ name, seconds, processor }) => {
    const [took, had] = [seconds, processor].map((one) => String(Math.round(one)).padStart(5));
    return `# ${took} s, ${had} s of the processor: ${name}${heldIn(rehearsals, name)}`;
  });
  const held = rehearsals.map(({ name, cloud, commands }) => {
    const each = Object.entries(commands).map(([command, peak]) => `${command} ${peak}`);
    return `# ${name}: the cloud held ${cloud} MiB, each command: ${each.join(", ")}`;
  });
  const head = about.map((line) => `# ${line}`);
  const tap = ["TAP version 13", `1..${all.length}`, ...lines, ...head, ...spent, ...held, ""].join(
    "\n",
  );
  writeFileSync(join(folder, "result.tap"), tap);
  writeFileSync(
    join(folder, "result.json"),
    JSON.stringify({ about, ...whole, phases, rehearsals }, null, 2),
  );
  process.stdout.write(tap);
  return all.length > 0 && all.every(({ result }) => result === "holds") ? 0 : 1;
}

/** How many claims of the rehearsal of this name hold; nothing where it is none. */
function heldIn(rehearsals: readonly Judged[], name: string): string {
  const verdicts = rehearsals.find((one) => one.name === name)?.verdicts;
  if (verdicts === undefined) return "";
  const held = verdicts.filter(({ result }) => result === "holds").length;
  return `, ${held} of ${verdicts.length} claims hold`;
}
