import type { PowerView } from "../core/power/gate.ts";
import { openArtefact } from "../edge/disk/artefact-reader.ts";
import type { PowerCounts, PowerHeader } from "../model/artefact.ts";
import { orNull } from "../model/error.ts";
import { type PackedReadings, packReadings } from "../model/packed-readings.ts";
import type { PowerReading } from "../model/power.ts";

export const POWER = "power.jsonl";

export function openPower(path: string) {
  return openArtefact<PowerHeader, PowerReading, PowerCounts>(path, "power");
}

type OpenPower = Awaited<ReturnType<typeof openPower>>;

export type Readings = Map<number, PowerReading>;

/** What is read of a run's readings, with its digest. */
interface ReadPower<T> {
  readonly readings: T;
  readonly sha256: string;
  readonly counts: PowerCounts;
}

/**
 * Every reading of a run by machine, packed; null when there are none. They may have been made from an
 * earlier snapshot: each says what was asked, and counts where that is what would be asked now.
 */
export function packedReadings(path: string): Promise<ReadPower<PackedReadings> | null> {
  return readAll(path, packed);
}

/** The same, as whoever asks BMCs goes on with them. */
export function readingsOf(path: string): Promise<ReadPower<Readings> | null> {
  return readAll(path, async ({ lines }) => {
    const readings: Readings = new Map();
    for await (const batch of lines()) for (const reading of batch) put(readings, reading);
    return readings;
  });
}

/** Every reading of an open file by machine. */
export async function packed({ lines }: OpenPower): Promise<PackedReadings> {
  const readings = packReadings();
  for await (const batch of lines()) for (const reading of batch) readings.put(reading);
  return readings;
}

async function readAll<T>(
  path: string,
  gather: (power: OpenPower) => Promise<T>,
): Promise<ReadPower<T> | null> {
  const power = await orNull(openPower(path), "N2I-E110");
  if (power === null) return null;
  const { sha256, footer: counts } = power.footer;
  return { readings: await gather(power), sha256, counts };
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
export function viewOf(readings: PackedReadings | null, most: number, record: boolean): PowerView {
  let silent = 0;
  for (const { verdict } of readings?.values() ?? []) if (verdict === "unreachable") silent += 1;
  const allowed = silent > 0 && silent <= most;
  return {
    readings: readings ?? new Map(),
    unreachable: allowed ? `--max-unreachable ${most}` : null,
    record,
  };
}
