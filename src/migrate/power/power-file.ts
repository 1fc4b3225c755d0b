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

interface ReadPower {
  readonly readings: Readings;
  readonly sha256: string;
  readonly counts: PowerCounts;
}

/** Every reading of a run by machine, also from an earlier snapshot. Null if there are none. */
export async function readingsOf(path: string): Promise<ReadPower | null> {
  const power = await orNull(openPower(path), "N2I-E110");
  if (power === null) return null;
  const { sha256, footer: counts } = power.footer;
  return { readings: await readingsIn(power), sha256, counts };
}

async function readingsIn({ lines }: OpenPower): Promise<Readings> {
  const readings: Readings = new Map();
  for await (const batch of lines()) for (const reading of batch) put(readings, reading);
  return readings;
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

/** The input of plan. @param most if more machines have a silent BMC, none is allowed */
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
