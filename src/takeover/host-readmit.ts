import { execute } from "../engine/execute.ts";
import { MigrationError } from "../lib/error.ts";
import { listed, NAMED } from "../lib/text.ts";
import type { NovaStep } from "../model/nova/nova-plan.ts";
import { queueOf } from "../model/nova/requests.ts";
import { closing } from "../run/databases.ts";
import { readJournal } from "../run/files/journal.ts";
import { checkWindow } from "../run/files/window-file.ts";
import { type MovePlan, movePlans } from "../run/host-files.ts";
import { inRun } from "../run/run.ts";
import type { Sink } from "../run/sink.ts";
import { servedElsewhere } from "../systems/nova-db/machines.ts";
import { readBeats } from "../systems/nova-db/services.ts";
import { hasLifted, lifting } from "./baremetal/legacy-journal.ts";
import { withHosts } from "./host-moves.ts";
import { fencesOf } from "./host-owned.ts";
import { checkSpelling } from "./host-plan.ts";
import { isSilentAgain } from "./host-watch.ts";
import { type HostPlaces, openHostPlace } from "./host-world.ts";
import { fenceLeg } from "./steps/host-move.ts";
import type { MoveTarget } from "./target.ts";

export interface ReadmitWords extends HostPlaces {
  readonly run: string;
  readonly compute: string;
  readonly queuePurged: boolean;
}

/**
 * Lifts the fence of a host whose machines stay where they are.
 *
 * @throws MigrationError N2I-E319 while its queue is not known to be empty, an instance names it that
 *   another host serves, or its nova-compute runs
 */
export function readmit(words: ReadmitWords, sink: Sink): Promise<number> {
  const { compute: host } = words;
  return inRun(words.run, "host readmit", { kind: "takeover", variant: "ironic" }, async (run) => {
    const { entries } = await readJournal(run);
    const plans: MovePlan[] = [];
    for (const plan of await movePlans(run, entries)) {
      checkSpelling(host, plan.manifest.from);
      const fences = await fencesOf([plan], entries, { wants: ofHost(host) });
      if (fences > 0 || tookUnfenced(plan, host)) plans.push(plan);
    }
    if (plans.length === 0 || hasLifted(host, entries))
      throw new MigrationError("N2I-E319", `this run keeps no fence of ${host}`, {
        fix: `If another run fenced the host, readmit it there. If an operator set it down, run: openstack compute service set --up ${host} nova-compute`,
      });
    await checkWindow(run, "host readmit");
    return closing(async (keep) => {
      const place = await openHostPlace(words, keep, { readOnly: false }, sink.say);
      const check = await mayComeBack(place, plans, words, sink, () => elsewhere(place, host));
      const [{ id } = { id: null }] = await readBeats(place.database, [host]);
      const fenced = plans.filter(({ manifest }) =>
        manifest.fence.some(({ key }) => key.id === id),
      );
      await sink.confirm(
        fenced.length === 0
          ? `Let ${host} come back? Its service record was deleted, and its fence with it.`
          : `Lift the fence of ${host} in ${place.database.shown}?`,
      );
      return withHosts(run, place, plans, async (hosts) => {
        if (fenced.length === 0) {
          await check();
          await lifting(hosts.session, host);
          return 1;
        }
        let lifted = 0;
        for (const plan of fenced) {
          const leg = fenceLeg(hosts.parts.fence, plan);
          const how = { check: hosts.check, precondition: check };
          const way = { direction: "back", only: { all: true, wants: ofHost(host) } } as const;
          const { done, left } = await execute([{ ...leg, ...how }], hosts.session, way);
          if (left.length > 0)
            throw new MigrationError(
              "N2I-E300",
              Array.from(left, ({ id, why }) => `${id} ${why}`).join("; "),
            );
          lifted += done;
        }
        return lifted;
      });
    });
  });
}

/**
 * Watches a host, and sees that it may come back.
 *
 * @param held what of its machines another has
 * @returns asks the same again
 * @throws MigrationError N2I-E319 with all that stands against it
 */
export async function mayComeBack(
  place: MoveTarget,
  plans: readonly MovePlan[],
  { compute: host, queuePurged }: ReadmitWords,
  sink: Sink,
  held: () => Promise<readonly string[]>,
): Promise<() => Promise<void>> {
  const still = await silentAt(place, host, plans, sink);
  const check = async (): Promise<void> => {
    const reports = still !== (await countOf(place, host));
    const why = [
      ...(reports ? [`nova-compute of ${host} runs again: stop it first`] : []),
      ...(await held()),
      ...(queuePurged ? [] : [notPurged(host)]),
    ];
    if (why.length > 0) throw new MigrationError("N2I-E319", why.join("; "));
  };
  await check();
  return check;
}

/** Whether a takeover found no service record to fence. */
function tookUnfenced({ manifest: { mode, from } }: MovePlan, host: string): boolean {
  return mode === "takeover" && from.some((one) => one.host === host && one.id === null);
}

function ofHost(host: string): (step: NovaStep) => boolean {
  return ({ before }) => before?.host === host;
}

/**
 * The report_count at which it stands still: what it was fenced at, or, where it ran since, what it has been
 * watched at for as long as Nova takes to call it down. Null: it runs.
 */
async function silentAt(
  place: MoveTarget,
  host: string,
  plans: readonly MovePlan[],
  sink: Sink,
): Promise<number | null> {
  const seen = plans.flatMap(({ manifest }) => manifest.from.filter((one) => one.host === host));
  const now = await countOf(place, host);
  // Where no plan has looked at it, nothing tells that it stands still.
  const stands = seen.length > 0 && seen.every(({ report_count }) => (report_count ?? 0) === now);
  if (stands) return now;
  const down = Math.max(...plans.map(({ manifest }) => manifest.service_down_time));
  return (await isSilentAgain(place, host, down, sink)) ? countOf(place, host) : null;
}

async function countOf({ database }: MoveTarget, host: string): Promise<number> {
  const [now] = await readBeats(database, [host]);
  return now?.report_count ?? 0;
}

async function elsewhere({ database }: MoveTarget, host: string): Promise<readonly string[]> {
  const found = await servedElsewhere(database, host);
  if (found.length === 0) return [];
  return [`instances name ${host} whose machines others serve: ${listed(found, NAMED)}`];
}

function notPurged(host: string): string {
  const queue = queueOf(host);
  return `whether ${queue} is empty is not known: run rabbitmqctl purge_queue ${queue} and give --queue-purged`;
}
