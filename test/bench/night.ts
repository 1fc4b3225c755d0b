import { hash } from "node:crypto";
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { PowerCounts, PowerHeader } from "../../src/model/artefact.ts";
import type { Entry } from "../../src/model/journal.ts";
import { blank, type PowerReading } from "../../src/model/power.ts";
import { createArtefact } from "../../src/run/files/artefact-writer.ts";
import { command } from "./command.ts";
import { judge } from "./measure.ts";
import { type Ground, steps, withGround } from "./road.ts";

/** Machines in the run: so few that what they take themselves is little. */
const FLEET = 500;
const MACHINES = 100_000;
/** MiB. */
const LIMIT = 400;
const STAGES = ["second apply", "plan", "status", "check", "report"] as const;
const TOLD = 12_345_678;

/**
 * What a night leaves behind beside the plan: readings of a whole fleet, and its journal. No command holds it.
 * @returns what was found, for people; MISSED stands in front of what is too much
 */
export function benchNight(): Promise<string> {
  return withGround(null, { machines: FLEET, share: 2 }, async (ground) => {
    const told = [`\nafter ${MACHINES} readings and machines handed over, ${FLEET} in the run\n`];
    const all = steps(ground, "read");
    const run = async (stage: string): Promise<number> => {
      const step = all.find((one) => one.stage === stage);
      if (step === undefined) throw new Error(`${stage} is no stage of the road`);
      return (await command(ground.folder, step.words)).rss ?? Number.POSITIVE_INFINITY;
    };
    for (const stage of ["extract", "plan", "load"]) await run(stage);
    await writeReadings(ground);
    appendNight(join(ground.folder, "run", "journal.jsonl"));
    for (const stage of STAGES) {
      judge((line) => told.push(line), `${stage}: peak MiB`, await run(stage), LIMIT);
    }
    return told.join("");
  });
}

async function writeReadings({ folder }: Ground): Promise<void> {
  const header: PowerHeader = {
    ...{ format: "nova2ironic/power@1", tool: "bench", made_from: { snapshot: "another" } },
  };
  const writer = await createArtefact({ path: join(folder, "run") }, "power.jsonl", header);
  for (let machine = FLEET; machine < FLEET + MACHINES; machine += 1)
    await writer.write(readingOf(machine));
  const oldest = new Date(TOLD).toISOString();
  const counts: PowerCounts = { machines: MACHINES, bmcs: MACHINES, verdicts: {}, oldest };
  await writer.finish(counts);
}

function readingOf(machine: number): PowerReading {
  const address = `10.${machine >> 16}.${(machine >> 8) & 255}.${machine & 255}`;
  const outcome = { verdict: "ok", detail: "answered with a conductor's settings" } as const;
  const begun = { date: new Date(TOLD + machine), client: "native" } as const;
  const words = `${address} port 623 as "admin" at ADMINISTRATOR`;
  const machines = [hash("sha256", address).slice(0, 16)];
  return {
    ...blank({ bm_node_ids: [machine], address }, begun, outcome),
    asked: { words, ipmitool: "1.8.19", machines },
    ...{ power: "on", suite: 17, suites: [3, 17], elapsed: 100 + (machine % 50) },
  };
}

/** What handover and finish write, machine by machine. */
function appendNight(path: string): void {
  const last = readFileSync(path, "utf8").trimEnd().split("\n").at(-1) ?? "";
  let prev = hash("sha256", last).slice(0, 16);
  let lines: string[] = [];
  const put = (entry: Entry): void => {
    const line = JSON.stringify({ ...entry, prev });
    prev = hash("sha256", line).slice(0, 16);
    lines.push(`${line}\n`);
    if (lines.length < 10_000) return;
    appendFileSync(path, lines.join(""));
    lines = [];
  };
  const observed = { fields: ["protected", "automated_clean"] };
  for (const [part, more] of [["hand-over", {}] as const, ["finish", { observed }] as const])
    for (let machine = 0; machine < MACHINES; machine += 1) {
      const id = `${String(machine).padStart(8, "0")}-0000-4000-8000-000000000000`;
      const at = (later: number): string => new Date(TOLD + machine * 107 + later).toISOString();
      put({ do: "start", part, id, at: at(0), by: "root@controller", ...more });
      put({ do: "end", part, id, at: at(53) });
    }
  appendFileSync(path, lines.join(""));
}
