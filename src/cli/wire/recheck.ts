import { NO_SITE } from "../../core/mapping/site.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import { SYSTEM_CLOCK } from "../../edge/ipmi/native.ts";
import { askAll } from "../../edge/ipmi/scheduler.ts";
import type { PlanHeader, SnapshotHeader } from "../../model/artefact.ts";
import { MigrationError } from "../../model/error.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import type { PowerProbe, PowerReading } from "../../model/power.ts";
import type { Seal } from "../../model/secret.ts";
import { POWER, type Readings, readingsOf } from "./power.ts";
import { questionsOf } from "./questions.ts";
import { openSnapshot, SNAPSHOT, type SnapshotLine } from "./run.ts";

/**
 * The readings a plan was made with, when they may still be relied on. A plan made without readings
 * needs none: each of its machines was accepted without one.
 *
 * @param most minutes since the oldest was asked
 * @throws MigrationError N2I-E307 when they are older, or no longer the plan's
 */
export async function checkReadings(
  run: RunFolder,
  { made_from }: PlanHeader,
  most: number,
  now: number,
): Promise<Readings> {
  const { power, snapshot } = made_from;
  if (power === null) return new Map();
  const found = await readingsOf(`${run.path}/${POWER}`, snapshot);
  if (found?.sha256 !== power.sha256)
    throw new MigrationError(
      "N2I-E307",
      `${run.path}/${POWER} is not what the plan was made with`,
      {
        fix: "Plan again, look at the difference, then apply.",
      },
    );
  const age = power.oldest === null ? 0 : (now - Date.parse(power.oldest)) / 60_000;
  if (age > most)
    throw new MigrationError(
      "N2I-E307",
      `the oldest power reading is ${age.toFixed(1)} minutes old, and --power-max-age is ${most}`,
    );
  return found.readings;
}

/**
 * Asks the machines of a batch once more; those that answer otherwise than the plan's reading are
 * left out, with the reason. Machines the reading did not reach are not asked again.
 */
export function recheckWith(
  run: RunFolder,
  readings: Readings,
  probe: PowerProbe,
  seal: Seal,
  signal: AbortSignal,
): (machines: readonly PlannedMachine[]) => Promise<ReadonlyMap<number, string>> {
  let cursor: Cursor | undefined;
  return async (machines) => {
    const wanted = new Set(
      machines
        .map(({ bm_node_id }) => bm_node_id)
        .filter((id) => readings.get(id)?.verdict === "ok"),
    );
    const otherwise = new Map<number, string>();
    if (wanted.size === 0) return otherwise;
    cursor ??= await openCursor(run);
    const lines = cursor.upTo(Math.max(...wanted));
    const questions = questionsOf(lines, cursor.hosts, NO_SITE, seal, (id) => wanted.has(id), {
      guests: new Map(),
      unasked: [],
    });
    for await (const now of askAll(questions, probe, { clock: SYSTEM_CLOCK, signal }))
      for (const id of now.bm_node_ids) {
        const why = differs(readings.get(id), now);
        if (why !== null) otherwise.set(id, why);
      }
    return otherwise;
  };
}

/** A place in the snapshot: plan and snapshot are in one order, so it only ever goes forward. */
interface Cursor {
  readonly hosts: SnapshotHeader["hosts"];
  /** The machines from here to this bm_nodes.id. */
  readonly upTo: (id: number) => AsyncIterable<readonly SnapshotLine[]>;
}

async function openCursor(run: RunFolder): Promise<Cursor> {
  const snapshot = await openSnapshot(`${run.path}/${SNAPSHOT}`);
  const batches = snapshot.lines()[Symbol.asyncIterator]();
  let held: readonly SnapshotLine[] = [];
  return {
    hosts: snapshot.header.hosts,
    async *upTo(id) {
      for (;;) {
        const behind = held.findIndex((line) => !("orphan" in line) && line.node.id > id);
        if (behind >= 0) {
          yield held.slice(0, behind);
          held = held.slice(behind);
          return;
        }
        yield held;
        const next = await batches.next();
        held = next.done === true ? [] : next.value;
        if (next.done === true) return;
      }
    },
  };
}

function differs(before: PowerReading | undefined, now: PowerReading): string | null {
  if (now.verdict !== "ok") return `power asked once more: ${now.verdict}: ${now.detail}`;
  return before?.power === now.power
    ? null
    : `power asked once more: was ${before?.power ?? "unknown"}, is ${now.power ?? "unknown"}`;
}
