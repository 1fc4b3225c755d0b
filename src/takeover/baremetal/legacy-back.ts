import { begunIn } from "../../engine/begun.ts";
import { MigrationError } from "../../lib/error.ts";
import { counted } from "../../lib/text.ts";
import { isUp } from "../../migrate/hosts/rules/running.ts";
import { HEARTBEAT } from "../../model/ironic/service.ts";
import type { Entries } from "../../model/journal.ts";
import type { UndoPreview } from "../../model/preview.ts";
import { presentMoves } from "../../run/host-files.ts";
import { ENDED, type Rollback, type RollbackOptions, rollbackOf } from "../../run/rollback.ts";
import type { Sink } from "../../run/sink.ts";
import { readBeats } from "../../systems/nova-db/services.ts";
import { standing, wayBack } from "../rules/legacy-way.ts";
import { liftByHand } from "./legacy-fence.ts";
import { takenByHand } from "./legacy-journal.ts";
import { returnMachines, withLegacy } from "./legacy-moves.ts";
import { type LegacyPlace, type LegacyPlaces, openLegacyOf } from "./legacy-place.ts";
import { begunMachines, LEGACY, type LegacyMachine } from "./steps/legacy-begun.ts";

/** Gives machines of nova-baremetal back to the hosts they came from, each as far as it came; their epoch only grows. */
export function legacyBack(words: LegacyPlaces & RollbackOptions): Rollback {
  const { all, node = [] } = words;
  const about = { kind: "takeover", variant: "baremetal" } as const;
  /** Machines of a preview; a fence is a row of it, and no machine. */
  const counts = { restore: 0, leave: 0 };
  return rollbackOf(about, words, (sink, preview) => ({
    nothing: "this run has changed nothing",
    async find(run, entries) {
      const names = new Set(node.map((uuid) => uuid.toLowerCase()));
      const machines = stillMoved(entries).filter(({ id }) => all || names.has(id.toLowerCase()));
      for (const { id } of machines) names.delete(id.toLowerCase());
      if (names.size > 0)
        throw new MigrationError(
          "N2I-E306",
          `${[...names].join(", ")} was never moved by this run`,
        );
      const fences: ReturnType<typeof takenByHand> = all ? takenByHand(entries) : new Map();
      return machines.length === 0 && fences.size === 0 ? null : { run, machines, fences };
    },
    async open(found, keep) {
      const how = { readOnly: preview };
      return { ...found, place: await openLegacyOf(found.run, words, keep, how, sink.say) };
    },
    async question({ place, machines }) {
      await warnOfRunning(place, machines, sink);
      return `Give ${counted(machines.length, "machine")} back in ${place.leases.shown} and ${place.database.shown}?`;
    },
    async back({ run, place, machines }, leave) {
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
          (done) => `${counted(done.back, "machine")} given back`,
        );
        const whole = all && left === 0 && !stopped;
        const lifted = whole ? await liftByHand(legacy.session, place) : 0;
        const fences = lifted === 0 ? "" : `, ${counted(lifted, "fence")} lifted`;
        sink.result(`Rollback: ${counted(back, "machine")} given back, ${left} left${fences}.`);
        return stopped ? null : ENDED;
      });
    },
    async *previews(job) {
      for await (const row of previewsOf(job)) {
        if (row.resource === "machine") counts[row.action === "leave" ? "leave" : "restore"] += 1;
        yield row;
      }
    },
    summary: () =>
      sink.result(
        `Rollback would give ${counted(counts.restore, "machine")} back and leave ${counts.leave}.`,
      ),
  }));
}

async function* previewsOf({
  place,
  machines,
  fences,
}: {
  readonly place: LegacyPlace;
  readonly machines: readonly LegacyMachine[];
  readonly fences: ReturnType<typeof takenByHand>;
}): AsyncGenerator<UndoPreview> {
  let stay = false;
  const now = await place.look(machines.map(({ move }) => move));
  for (const [at, { id, move }] of machines.entries()) {
    const seen = now[at];
    if (seen === undefined) continue;
    const { is, why } = standing(wayBack(move), seen);
    if (is === "after") continue;
    stay ||= why !== null;
    const action = why === null ? "restore" : "leave";
    yield { action, resource: "machine", uuid: id, bm_node_id: move.id, why };
  }
  const why = stay ? "machines of that host stay" : null;
  for (const [host, marks] of fences)
    if (marks.length > 0)
      yield {
        ...{ action: why === null ? "restore" : "leave", resource: "bm_service_leases", why },
        ...{ uuid: host, bm_node_id: null },
      };
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

/** Machines that the run began and did not give back, the last first. */
export function stillMoved(entries: Entries): readonly LegacyMachine[] {
  return begunMachines(begunIn(entries, LEGACY));
}
