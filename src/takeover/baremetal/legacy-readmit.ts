import { MigrationError } from "../../lib/error.ts";
import { listed, NAMED } from "../../lib/text.ts";
import { lasts } from "../../model/nova/leases.ts";
import { MIGRATING } from "../../model/nova/legacy-move.ts";
import { closing } from "../../run/databases.ts";
import { readJournal } from "../../run/files/journal.ts";
import { checkWindow } from "../../run/files/window-file.ts";
import { presentMoves } from "../../run/host-files.ts";
import { inRun } from "../../run/run.ts";
import type { Sink } from "../../run/sink.ts";
import { instancesOn } from "../../systems/nova-db/legacy.ts";
import { checkSpelling } from "../host-plan.ts";
import { mayComeBack, type ReadmitWords } from "../host-readmit.ts";
import { liftFence, readLeases } from "../leases/leases.ts";
import { nodesOf, takenNodes } from "../leases/nodes.ts";
import { isLockedByNobody } from "../rules/legacy-way.ts";
import { hasLifted, isLifting, lifting } from "./legacy-journal.ts";
import { isAbout } from "./legacy-left.ts";
import { withLegacy } from "./legacy-moves.ts";
import { type LegacyPlace, type LegacyPlaces, openLegacyOf } from "./legacy-place.ts";

/**
 * Lifts the fence of a host's lease in nova_bm; machines that were taken stay where they are.
 *
 * @returns milliseconds that its lease lasts from now, in which its agent is to begin, none without a lease; null
 *   where it is not fenced any more
 * @throws MigrationError N2I-E319 while its queue is not known to be empty, a machine of it is half way, an
 *   instance names it whose machine another host has, or its nova-compute runs
 */
export function readmitLegacy(
  words: ReadmitWords & LegacyPlaces,
  sink: Sink,
): Promise<number | null> {
  const { compute: host } = words;
  return inRun(
    words.run,
    "host readmit",
    { kind: "takeover", variant: "baremetal" },
    async (run) => {
      await checkWindow(run, "host readmit");
      const plan = await presentMoves(run);
      const plans = [plan];
      checkSpelling(host, plan.manifest.from);
      const { entries } = await readJournal(run);
      if (!(await isAbout(host, plan, entries)))
        throw new MigrationError("N2I-E319", `this run took no machine of ${host}`, {
          fix: "Give the --run of its death: of an agent it is FOLDER/HOST-EPOCH.",
        });
      return closing(async (keep) => {
        const place = await openLegacyOf(run, words, keep, { readOnly: false }, sink.say);
        const [lease] = await readLeases(place.leases, host);
        if (lease === undefined && hasLifted(host, entries)) return null;
        const locked = { hosts: [host] };
        if (lease?.fenced_by === null) {
          if (!isLifting(host, entries)) return null;
          // It was lifted, and who did it died before that was written down.
          await withLegacy(run, place, plans, locked, ({ session }) => lifting(session, host));
          return lasts(lease) ? lease.ttl - lease.age : null;
        }
        const check = await mayComeBack(place, plans, words, sink, () => heldBy(place, host));
        await sink.confirm(
          lease === undefined
            ? `Let ${host} come back? No lease of it is kept in ${place.leases.shown}.`
            : `Lift the fence of ${host}'s lease in ${place.leases.shown}?`,
        );
        await withLegacy(run, place, plans, locked, async ({ session }) => {
          // Another may have worked on it until the lock was had.
          await check();
          await lifting(session, host, async () => {
            if (lease !== undefined && !(await liftFence(place.leases, lease)))
              throw new MigrationError("N2I-E300", `the lease of ${host} was changed meanwhile`);
          });
        });
        return lease?.ttl ?? 0;
      });
    },
  );
}

/** What of both databases says that another host has, or takes, what this one would work on. */
async function heldBy({ leases, database }: LegacyPlace, host: string): Promise<readonly string[]> {
  const named = await instancesOn(database, host);
  const taken = await takenNodes(
    leases,
    host,
    named.map(({ uuid }) => uuid),
  );
  const half: string[] = [];
  for await (const page of nodesOf(leases, host))
    for (const { uuid, task_state } of page) if (task_state === MIGRATING) half.push(uuid);
  for (const { node, task_state } of named)
    if (task_state === MIGRATING && node !== null && !half.includes(node)) half.push(node);
  const locked = named.filter(
    (one) => isLockedByNobody(one) && one.task_state !== MIGRATING && !taken.includes(one.uuid),
  );
  return [
    ...(taken.length === 0
      ? []
      : [`instances name ${host} whose machines others have: ${listed(taken, NAMED)}`]),
    ...(half.length === 0
      ? []
      : [
          `machines of ${host} are half way, take them back or end their move: ${listed(half, NAMED)}`,
        ]),
    ...(locked.length === 0
      ? []
      : [
          `instances of ${host} are locked by nobody, as a move that died leaves them: take it back or end it, or unlock them: ${listed(
            locked.map(({ uuid }) => uuid),
            NAMED,
          )}`,
        ]),
  ];
}
