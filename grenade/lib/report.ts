import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Verdict } from "./claim.ts";
import type { Seen } from "./seen.ts";
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
export function memoryOf({ held, ran }: Seen): Pick<Judged, "cloud" | "commands"> {
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
  const seconds = phases.reduce((sum, one) => sum + one.seconds, 0);
  const spent = [...phases, { name: "in all", seconds }].map(
    ({ name, seconds: own }) => `# ${String(Math.round(own)).padStart(5)} s  ${name}`,
  );
  const held = rehearsals.map(({ name, cloud, commands }) => {
    const each = Object.entries(commands).map(([command, peak]) => `${command} ${peak}`);
    return `# ${name}: the cloud held ${cloud} MiB, each command: ${each.join(", ")}`;
  });
  const tap = ["TAP version 13", `1..${all.length}`, ...lines, ...spent, ...held, ""].join("\n");
  writeFileSync(join(folder, "result.tap"), tap);
  writeFileSync(
    join(folder, "result.json"),
    JSON.stringify({ seconds, phases, rehearsals }, null, 2),
  );
  process.stdout.write(tap);
  return all.length > 0 && all.every(({ result }) => result === "holds") ? 0 : 1;
}
