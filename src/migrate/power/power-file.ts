import { orNull } from "../../lib/error.ts";
import type { PowerCounts, PowerHeader } from "../../model/artefact.ts";
import type { PowerReading } from "../../model/power.ts";
import { openArtefact } from "../../run/files/artefact-reader.ts";
import type { PowerView } from "./rules/gate.ts";

export const POWER = "power.jsonl";

export function openPower(path: string) {
  return openArtefact<PowerHeader, PowerReading, PowerCounts>(path, "power");
}

type OpenPower = Awaited<ReturnType<typeof openPower>>;

export type Readings = Map<number, PowerReading>;

/** What is read of a run's readings, with its digest. */
interface ReadPower {
  readonly readings: Readings;
  readonly sha256: string;
  readonly counts: PowerCounts;
}

/**
 * Every reading of a run by machine; null when there are none. They may have been made from an earlier snapshot: each
 * says what was asked, and counts where that is what would be asked now.
 */
export async function readingsOf(path: string): Promise<ReadPower | null> {
  const power = await orNull(openPower(path), "N2I-E110");
  if (power === null) return null;
  const { sha256, footer: counts } = power.footer;
  return { readings: await readingsIn(power), sha256, counts };
}

/** Every reading of an open file by machine. */
async function readingsIn({ lines }: OpenPower): Promise<Readings> {
  const readings: Readings = new Map();
  for await (const batch of lines()) for (const reading of batch) put(readings, reading);
  return readings;
}

/** Each reading once, in order of the first machine it is of. */
export function inOrder(readings: Iterable<PowerReading>): readonly PowerReading[] {
  return [...new Set(readings)].toSorted(
    (left, right) => (left.bm_node_ids[0] ?? 0) - (right.bm_node_ids[0] ?? 0),
  );
}

/** A reading may be of several machines behind one BMC. */
export function put(readings: Readings, reading: PowerReading): void {
  for (const id of reading.bm_node_ids) readings.set(id, reading);
}

/**
 * What plan takes into account: the readings, and how many silent BMCs the operator allows.
 *
 * @param most machines whose BMC may be silent; when more are, none is allowed
 */
export function viewOf(readings: Readings | null, most: number, record: boolean): PowerView {
  let silent = 0;
  for (const { verdict } of new Set(readings?.values() ?? []))
    if (verdict === "unreachable") silent += 1;
  const allowed = silent > 0 && silent <= most;
  return {
    readings: readings ?? new Map(),
    unreachable: allowed ? `--max-unreachable ${most}` : null,
    record,
  };
}
