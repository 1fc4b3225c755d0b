import { MigrationError, orNull } from "../../lib/error.ts";
import type { PlanHeader, PowerCounts, PowerHeader } from "../../model/artefact.ts";
import { POWER_SKEW, type PowerReading } from "../../model/power.ts";
import { openArtefact } from "../../run/files/artefact-reader.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import type { PowerView } from "./rules/gate.ts";

export const POWER = "power.jsonl";

export function openPower(path: string) {
  return openArtefact<PowerHeader, PowerReading, PowerCounts>(path, "power");
}

export type Readings = Map<number, PowerReading>;

/** Every reading of a run by machine, also from an earlier snapshot. Null if there are none. */
export async function readingsOf(path: string) {
  const power = await orNull(openPower(path), "N2I-E110");
  if (power === null) return null;
  const readings: Readings = new Map();
  for await (const batch of power.lines()) for (const reading of batch) put(readings, reading);
  return { readings, sha256: power.footer.sha256, counts: power.footer.footer };
}

/**
 * Refuses a plan with old power readings. A plan without readings passes, because each of its
 * machines was accepted without one.
 * @param most minutes since the oldest query
 * @throws MigrationError N2I-E307 if they are older, or changed since the plan
 */
export async function checkReadings(
  run: RunFolder,
  { made_from: { power } }: PlanHeader,
  most: number,
): Promise<void> {
  if (power === null) return;
  const refused = (text: string, fix?: string): MigrationError =>
    new MigrationError("N2I-E307", text, fix === undefined ? {} : { fix });
  const path = `${run.path}/${POWER}`;
  const found = await orNull(openPower(path), "N2I-E110");
  if (found?.footer.sha256 !== power.sha256)
    throw refused(
      `${path} is not the file that the plan was made from`,
      "Run plan again, check the differences, then run apply.",
    );
  const age = power.oldest === null ? 0 : (Date.now() - Date.parse(power.oldest)) / 60_000;
  const minutes = Math.abs(age).toFixed(1);
  // If the clock was set back, readings appear younger.
  if (age < -POWER_SKEW)
    throw refused(
      `the oldest power reading is dated ${minutes} min ahead of this host's clock`,
      "Correct the clock, then run power, plan and apply again.",
    );
  if (age > most)
    throw refused(`the oldest power reading is ${minutes} min old, and --power-max-age is ${most}`);
}

/** Each reading once, ordered by its first machine. */
export function inOrder(readings: Iterable<PowerReading>): readonly PowerReading[] {
  return [...new Set(readings)].toSorted(
    (left, right) => (left.bm_node_ids[0] ?? 0) - (right.bm_node_ids[0] ?? 0),
  );
}

/** Several machines with one BMC share a reading. */
export function put(readings: Readings, reading: PowerReading): void {
  for (const id of reading.bm_node_ids) readings.set(id, reading);
}

/**
 * The readings for a plan, and their identity in its header.
 * @param most maximum number of silent BMCs. If more are silent, none is allowed
 */
export async function powerOf(path: string, most: number, record: boolean) {
  const read = await readingsOf(path);
  const readings: Readings = read?.readings ?? new Map();
  const bmcs = [...new Set(readings.values())];
  const silent = bmcs.filter(({ verdict }) => verdict === "unreachable").length;
  const unreachable = silent > 0 && silent <= most ? `--max-unreachable ${most}` : null;
  const view: PowerView = { readings, unreachable, record };
  return { view, made_from: read && { sha256: read.sha256, oldest: read.counts.oldest } };
}
