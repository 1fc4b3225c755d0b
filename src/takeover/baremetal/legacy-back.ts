import { begunIn } from "../../engine/begun.ts";
import { MigrationError } from "../../lib/error.ts";
import { isUp } from "../../migrate/hosts/rules/running.ts";
import type { Left } from "../../model/change.ts";
import { HEARTBEAT } from "../../model/ironic/service.ts";
import type { Entries } from "../../model/journal.ts";
import type { UndoPreview } from "../../model/preview.ts";
import { closing } from "../../run/databases.ts";
import { readJournal } from "../../run/files/journal.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { checkWindow } from "../../run/files/window-file.ts";
import { presentMoves } from "../../run/host-files.ts";
import { inRun } from "../../run/run.ts";
import { checkScope } from "../../run/scope.ts";
import type { Sink } from "../../run/sink.ts";
import { readBeats } from "../../systems/nova-db/services.ts";
import { standing, wayBack } from "../rules/legacy-way.ts";
import { liftByHand } from "./legacy-fence.ts";
import { takenByHand } from "./legacy-journal.ts";
import { returnMachines, withLegacy } from "./legacy-moves.ts";
import { type LegacyPlace, type LegacyPlaces, openLegacyOf } from "./legacy-place.ts";
import { begunMachines, LEGACY, type LegacyMachine } from "./steps/legacy-begun.ts";

/** What is to be taken back of a run that moves machines of nova-baremetal. */
interface LegacyBackWords extends LegacyPlaces {
  readonly run: string;
  readonly all: boolean;
  readonly node?: readonly string[];
}

/**
 * Gives machines back to the hosts they came from, each as far as it came; their epoch only grows.
 *
 * @param leave hears of machines that stay as they are
 * @returns whether it came to its end; null where nothing was changed
 */
export async function rollbackLegacy(
  words: LegacyBackWords,
  sink: Sink,
  leave: (rows: readonly Left[]) => void,
): Promise<boolean | null> {
  return inRun(words.run, "rollback", { create: false }, async (run) => {
    await checkWindow(run, "rollback");
    return withBack(words, false, run, sink, async (place, machines) => {
      await warnOfRunning(place, machines, sink);
      await sink.confirm(
        `Give ${machines.length} machines back in ${place.leases.shown} and ${place.database.shown}?`,
      );
      // A plan of another kind in this folder says nothing of what was begun.
      const plans = [await presentMoves(run)].filter(({ manifest }) => "nova_bm" in manifest);
      const hosts = machines.flatMap(({ move: { from, to } }) => [from, to]);
      const wanted = new Set(machines.map(({ id }) => id));
      return withLegacy(run, place, plans, { hosts }, async (legacy) => {
        const { back, left, stopped } = await sink.during(
          "rollback",
          machines.length,
          (progress) =>
            returnMachines(
              legacy,
              (ours) => begunMachines(ours).filter(({ id }) => wanted.has(id)),
              leave,
              progress,
            ),
          (done) => `${done.back} machines given back`,
        );
        const whole = words.all && left === 0 && !stopped;
        const lifted = whole ? await liftByHand(legacy.session, place) : 0;
        const fences = lifted === 0 ? "" : `, ${lifted} fences lifted`;
        sink.result(`Rollback: ${back} machines given back, ${left} left${fences}.`);
        return !stopped;
      });
    });
  });
}

/** A resource tracker that goes through its machines while they leave it drops what is not its own any more. */
async function warnOfRunning(
  { database }: LegacyPlace,
  machines: readonly LegacyMachine[],
  { say }: Pick<Sink, "say">,
): Promise<void> {
  const hosts = [...new Set(machines.map(({ move }) => move.to))];
  const beats = hosts.length === 0 ? [] : await readBeats(database, hosts);
  for (const { host } of beats.filter((beat) => isUp(beat, HEARTBEAT)))
    say(
      `Warning: nova-compute of ${host} reports. Stop it first, and start it afterwards: it may delete a compute node that changes hosts meanwhile.`,
    );
}

/** Shows what the same words would take back; writes nothing. */
export async function previewLegacyBack(words: LegacyBackWords, sink: Sink): Promise<void> {
  const shown = await inRun(words.run, "rollback", { create: false }, (run) =>
    withBack(words, true, run, sink, async (place, machines, fences) => {
      const counts = { restore: 0, leave: 0 };
      const rows = async function* (): AsyncGenerator<UndoPreview> {
        const now = await place.look(machines.map(({ move }) => move));
        for (const [at, { id, move }] of machines.entries()) {
          const seen = now[at];
          if (seen === undefined) continue;
          const stands = standing(wayBack(move), seen);
          if (stands.is === "after") continue;
          const why = stands.is === "other" ? stands.why : null;
          const action = why === null ? "restore" : "leave";
          counts[action] += 1;
          yield { action, resource: "machine", uuid: id, bm_node_id: move.id, why };
        }
        const why = counts.leave === 0 ? null : "machines of that host stay";
        for (const [host, marks] of fences)
          if (marks.length > 0)
            yield {
              ...{ action: why === null ? "restore" : "leave", resource: "bm_service_leases", why },
              ...{ uuid: host, bm_node_id: null },
            };
      };
      await sink.list("undos", rows());
      sink.result(`Rollback would give ${counts.restore} machines back and leave ${counts.leave}.`);
      return true;
    }),
  );
  if (shown === null) await sink.list("undos", (async function* () {})());
}

/** Machines that the run began and did not give back, the last first. */
export function stillMoved(entries: Entries): readonly LegacyMachine[] {
  return begunMachines(begunIn(entries, LEGACY));
}

async function withBack<T>(
  words: LegacyBackWords,
  readOnly: boolean,
  run: RunFolder,
  sink: Sink,
  work: (
    place: LegacyPlace,
    machines: readonly LegacyMachine[],
    fences: ReturnType<typeof takenByHand>,
  ) => Promise<T>,
): Promise<T | null> {
  const { all, node = [] } = words;
  checkScope(all, node);
  const { entries } = await readJournal(run);
  const moved = stillMoved(entries);
  const names = new Set(node.map((uuid) => uuid.toLowerCase()));
  const machines = moved.filter(({ id }) => all || names.has(id.toLowerCase()));
  for (const { id } of machines) names.delete(id.toLowerCase());
  if (names.size > 0)
    throw new MigrationError("N2I-E306", `${[...names].join(", ")} was never moved by this run`);
  const fences = all ? takenByHand(entries) : new Map();
  if (machines.length === 0 && fences.size === 0) {
    sink.result("Rollback: this run has changed nothing.");
    return null;
  }
  return closing(async (keep) =>
    work(await openLegacyOf(run, words, keep, { readOnly }, sink.say), machines, fences),
  );
}
