import type { ConductorTraits } from "../core/power/gate.ts";
import { wayOfPlanned } from "../core/transform/power-way.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { askQuestions } from "../edge/power/ask.ts";
import type { Excluded } from "../engine/part.ts";
import type { PlanHeader } from "../model/artefact.ts";
import { MigrationError, orNull } from "../model/error.ts";
import type { PlannedMachine } from "../model/plan.ts";
import {
  type KnownReadings,
  POWER_AHEAD,
  type PowerProbe,
  type PowerReading,
} from "../model/power.ts";
import type { Seal } from "../model/secret.ts";
import type { Mappings } from "./documents.ts";
import { openPower, POWER, readingsIn } from "./power-file.ts";
import { askGuests, newAside, questionsOf } from "./questions.ts";
import { surroundings } from "./surroundings.ts";

/**
 * The readings a plan was made with, when they may still be relied on. A plan made without readings
 * needs none: each of its machines was accepted without one.
 *
 * @param most minutes since the oldest was asked
 * @param wanted whether somebody looks at them; without it none is given
 * @throws MigrationError N2I-E307 when they are older, or no longer the plan's
 */
export async function checkReadings(
  run: RunFolder,
  { made_from }: PlanHeader,
  most: number,
  now: number,
  wanted: boolean,
): Promise<KnownReadings> {
  const { power } = made_from;
  if (power === null) return new Map();
  const found = await orNull(openPower(`${run.path}/${POWER}`), "N2I-E110");
  if (found?.footer.sha256 !== power.sha256)
    throw new MigrationError(
      "N2I-E307",
      `${run.path}/${POWER} is not what the plan was made with`,
      {
        fix: "Plan again, look at the difference, then apply.",
      },
    );
  const age = power.oldest === null ? 0 : (now - Date.parse(power.oldest)) / 60_000;
  // A clock that was set back makes readings young again.
  if (age < -POWER_AHEAD)
    throw new MigrationError(
      "N2I-E307",
      `the oldest power reading is dated ${(-age).toFixed(1)} minutes ahead of this host's clock`,
      { fix: "Set the clock right, then run power again, then plan, then apply." },
    );
  if (age > most)
    throw new MigrationError(
      "N2I-E307",
      `the oldest power reading is ${age.toFixed(1)} minutes old, and --power-max-age is ${most}`,
    );
  return wanted ? readingsIn(found) : new Map();
}

/**
 * Asks the machines of a batch once more, of what is about to be loaded; those that answer otherwise
 * than the plan's reading are left out, with the reason. Machines the reading did not reach are not
 * asked again: each of them was accepted.
 *
 * @param conductor as the plan took it to be
 * @throws MigrationError N2I-E313 when not every machine was asked whose reading the plan relies on
 */
export function recheckWith(
  readings: KnownReadings,
  probe: PowerProbe,
  seal: Seal,
  signal: AbortSignal,
  conductor: ConductorTraits,
): (machines: readonly PlannedMachine[]) => Promise<Excluded> {
  return async (machines) => {
    const asked = machines
      .filter(({ bm_node_id }) => readings.get(bm_node_id)?.verdict === "ok")
      .map((machine) => ({ id: machine.bm_node_id, way: wayOfPlanned(machine, conductor.keys) }));
    const otherwise = new Map<number, string>();
    const answered = new Set<number>();
    const aside = newAside();
    const note = (now: PowerReading): void => {
      for (const id of now.bm_node_ids) {
        answered.add(id);
        const why = differs(readings.get(id), now);
        if (why !== null) otherwise.set(id, why);
      }
    };
    const words = new Set(asked.map(({ way }) => way.words));
    // Sharing is rare, and to hold a batch back until its end costs nothing.
    const isShared = words.size < asked.length ? () => true : () => false;
    const questions = questionsOf(asked, isShared, seal, aside);
    for await (const now of askQuestions(questions, probe, { signal, clock: surroundings().clock }))
      note(now);
    for await (const now of askGuests(aside, { signal })) note(now);
    const missed = asked.filter(({ id }) => !answered.has(id));
    const [first] = missed;
    if (first !== undefined && !signal.aborted)
      throw new MigrationError(
        "N2I-E313",
        `${missed.length} of ${asked.length} machines were not asked again, such as bm_nodes.id=${first.id}: ${first.way.words}`,
      );
    return new Map(
      machines.flatMap(({ uuid, bm_node_id }) => {
        const why = otherwise.get(bm_node_id);
        return why === undefined || uuid === null ? [] : [[uuid, why] as const];
      }),
    );
  };
}

/** The conductors a plan was made for. */
export function conductorOf(
  { target, conductor_ipmitool }: PlanHeader,
  { releases }: Pick<Mappings, "releases">,
): ConductorTraits {
  const doc = releases.find((release) => release.doc.release === target.release)?.doc;
  return {
    keys: doc?.power_keys ?? [],
    ipmitool: conductor_ipmitool ?? doc?.ipmitool ?? "1.8.19",
  };
}

function differs(before: PowerReading | undefined, now: PowerReading): string | null {
  if (now.verdict !== "ok") return `power asked once more: ${now.verdict}: ${now.detail}`;
  return before?.power === now.power
    ? null
    : `power asked once more: was ${before?.power ?? "unknown"}, is ${now.power ?? "unknown"}`;
}
