import type { Trouble } from "../core/handover/judge.ts";
import type { Pace } from "../engine/window-part.ts";
import type { MigrationError } from "../model/error.ts";
import { plannedNodes } from "../parts/hand-over.ts";
import { closing, openRole } from "./databases.ts";
import { loadMappings } from "./documents.ts";
import { checkNotFinished } from "./finished.ts";
import { rememberGiven } from "./given-file.ts";
import { type Releasing, release, restage, withReleasing } from "./handing-over.ts";
import { wantedOf } from "./named.ts";
import { loadable, nothingLoads } from "./nothing.ts";
import { STOPPED } from "./pipeline.ts";
import { inRun, openPlan, PLAN } from "./run.ts";
import type { Sink } from "./sink.ts";

/** What a hand-over is given. */
export interface HandoverWords {
  readonly run: string;
  readonly ironicDb: string;
  readonly node?: readonly string[];
  readonly conductorLog?: readonly string[];
  readonly undo: boolean;
  readonly lockWait: number;
  readonly afterFinish: boolean;
}

/** What became of a hand-over. */
interface Ended {
  readonly failed: readonly Trouble[];
  /** Handed over, and a conductor says something of it. */
  readonly noted: readonly Trouble[];
  /** Why it ended after a machine was released. */
  readonly broke: MigrationError | null;
}

/** Hands staged machines over to conductors, or with `undo` puts those released into maintenance again. */
export function handover(words: HandoverWords, pace: Pace, sink: Sink): Promise<Ended> {
  const { undo, node = [] } = words;
  return inRun(words.run, "handover", { create: false }, (run) =>
    closing(async (keep) => {
      if (undo) await checkNotFinished(run, "tenants' machines would be in maintenance", words);
      const plan = await openPlan(`${run.path}/${PLAN}`);
      const { header } = plan;
      const counts = plan.footer.footer;
      if (!undo && loadable(counts) === 0) throw nothingLoads(counts);
      const wanted = await wantedOf(node, plan.lines);
      const mappings = await loadMappings();
      const database = keep(await openRole("ironic-db", words.ironicDb, { readOnly: false }));
      const which = words.node === undefined ? "the staged machines" : node.join(", ");
      await sink.confirm(`${undo ? "Stage again" : "Hand over"} ${which} of ${database.shown}?`);
      const ironic = { database, header, mappings };
      return withReleasing(run, ironic, words.conductorLog ?? [], async (world) => {
        if (!undo) await rememberGiven(run, "handover", words);
        const nodes = plannedNodes(plan.lines(), wanted);
        const how = { nodes, world, machines: counts.machines };
        return undo ? takeBack(how, words.lockWait, sink) : handOver(how, pace, sink);
      });
    }),
  );
}

interface How {
  readonly nodes: ReturnType<typeof plannedNodes>;
  readonly world: Omit<Releasing, "progress">;
  readonly machines: number;
}

async function handOver({ nodes, world, machines }: How, pace: Pace, sink: Sink): Promise<Ended> {
  const made = await sink.during(
    "handover",
    machines,
    (progress) => release(nodes, { ...world, progress }, pace),
    ({ released, done }) => `${released} machines released, ${done} handed over`,
  );
  const before = made.before > 0 ? `, ${made.before} of them before` : "";
  const noted = made.noted.length > 0 ? `; of ${made.noted.length} a conductor says something` : "";
  sink.told(
    `Handover: ${made.released} machines released now, ${made.done} handed over, ${made.waiting} waiting, ` +
      `${made.held} held by the plan, ${made.trouble.length} failed${before}${noted}.`,
  );
  for (const notice of made.notices) sink.say(`Notice: ${notice}.`);
  if (made.stopped) sink.say(STOPPED);
  return { failed: made.trouble, noted: made.noted, broke: made.broke };
}

async function takeBack(
  { nodes, world, machines }: How,
  lockWait: number,
  sink: Sink,
): Promise<Ended> {
  const made = await sink.during(
    "stage",
    machines,
    (progress) => restage(nodes, { ...world, progress }, lockWait),
    ({ staged }) => `${staged} machines staged again`,
  );
  const { staged, left, stopped, broke } = made;
  sink.told(`Handover taken back: ${staged} machines staged again, ${left.length} left.`);
  if (stopped) sink.say(STOPPED);
  return { failed: left, noted: [], broke };
}
