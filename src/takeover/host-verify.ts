import { MigrationError } from "../lib/error.ts";
import { isObject } from "../lib/json.ts";
import { type RowVerdict, verdictsOf } from "../model/artefact.ts";
import type { Entries, Entry } from "../model/journal.ts";
import type { ComputeHost, OldHost } from "../model/nova/host-move.ts";
import type { Lease } from "../model/nova/leases.ts";
import { queueOf } from "../model/nova/requests.ts";
import { closing } from "../run/databases.ts";
import { readJournal } from "../run/files/journal.ts";
import { openRun } from "../run/files/run-folder.ts";
import { kindOf } from "../run/files/run-kind.ts";
import { type MovePlan, movePlans, presentMoves } from "../run/host-files.ts";
import type { Sink } from "../run/sink.ts";
import { listVerdicts, type VerifiedRows } from "../run/verified.ts";
import { savedOptions } from "./baremetal/legacy-clients.ts";
import { hasLifted } from "./baremetal/legacy-fence.ts";
import { LEGACY } from "./baremetal/steps/legacy-started.ts";
import { isSilentAgain, longestDownTime } from "./host-watch.ts";
import { readLeases } from "./leases/leases.ts";
import { type Compared, compare, openTarget } from "./open-target.ts";
import { isFenced } from "./rules/move-hosts.ts";
import { fencesOf } from "./steps/host-move.ts";
import type { HostOptions } from "./target.ts";

interface VerifyOptions extends HostOptions {
  readonly run: string;
  readonly allRows?: boolean;
  /** The operator confirms that the queues of the former hosts are empty. */
  readonly queuePurged?: boolean;
}

/** @throws MigrationError N2I-E326 if the plan moves no machine */
export async function verifyHosts(options: VerifyOptions, sink: Sink): Promise<VerifiedRows> {
  const run = await openRun(options.run, { create: false });
  return closing(async (keep) => {
    const present = await presentMoves(run);
    const { entries } = await readJournal(run);
    const changed = await movePlans(run, entries);
    const earlier = changed.filter(({ sha256 }) => sha256 !== present.sha256);
    const { variant = "ironic" } = await kindOf(run);
    const where = await savedOptions(variant, run, options);
    const target = await openTarget(variant, where, keep, { readOnly: true }, sink.report);
    const verdicts = async function* (): AsyncGenerator<RowVerdict> {
      const { hosts } = await target.readFacts();
      yield* judged(target, { plans: [present, ...earlier], hosts, entries }, options, sink);
    };
    const { machines } = present.manifest.counts;
    const counts = await listVerdicts(verdicts(), machines, sink, options.allRows);
    if (counts.validated + counts.wrong === 0)
      throw new MigrationError("N2I-E326", "the plan does not move any machine");
    return counts;
  });
}

async function* judged(
  target: Awaited<ReturnType<typeof openTarget>>,
  compared: Compared,
  { queuePurged = false }: VerifyOptions,
  sink: Sink,
): AsyncGenerator<RowVerdict> {
  const { plans, hosts: services, entries } = compared;
  let moved = 0;
  for await (const verdict of compare(target, compared)) {
    moved += 1;
    yield verdict;
  }
  if (moved === 0) return;
  const leases = target.leases === undefined ? [] : await readLeases(target.leases);
  const hosts = new Map(
    plans
      .toReversed()
      .flatMap((plan) => oldHosts(plan, entries))
      .map((one) => [one.host, one] as const),
  );
  for (const oldHost of hosts.values()) {
    const service = services.find(({ host }) => host === oldHost.host);
    const lease = leases.find(({ host, fenced_by }) => host === oldHost.host && fenced_by !== null);
    const fenced = lease !== undefined || (service !== undefined && isFenced(service));
    const planned = plans
      .flatMap(({ manifest }) => manifest.from)
      .filter(({ host }) => host === oldHost.host);
    // A nova-compute whose service record was deleted creates a new record, which is not fenced.
    const isNew =
      planned.length > 0 && service !== undefined && planned.every(({ id }) => id !== service.id);
    // host readmit has already made the other checks.
    if ((isNew || !fenced) && (await wasReadmitted(oldHost.host, plans, entries))) continue;
    const ran =
      lease === undefined
        ? service !== undefined && service.report_count !== oldHost.report_count
        : ranSinceFenced(oldHost, service, lease);
    // Other users lift their own fences. This run only needs an empty queue.
    const runFences = plans.some(({ manifest }) => fences(manifest, oldHost.host));
    // A host without a lease or service has no fence, and must not run before it is readmitted.
    const isTaken = ({ manifest: { mode, from } }: MovePlan): boolean =>
      mode === "takeover" && from.some(({ host }) => host === oldHost.host);
    const taken = runFences || plans.some(isTaken);
    const started = isNew && taken;
    const runs =
      started ||
      (ran &&
        (fenced || taken) &&
        !(await isSilentAgain(target, oldHost.host, longestDownTime(plans), sink)));
    if (runs || fenced || runFences || (taken && service === undefined))
      yield judgeHost(oldHost, service, { fenced: fenced || started || !runFences, runs, started });
    const queue = queueOf(oldHost.host);
    const reason = `not checked: on the broker, run rabbitmqctl purge_queue ${queue}, then pass --queue-purged`;
    yield verdictsOf(null)(queue, queuePurged ? null : reason);
  }
}

function fences({ fence }: MovePlan["manifest"], host: string): boolean {
  return fence.some(({ before }) => before?.host === host);
}

/** Whether this run lifted the host's fence after its last move, from the journal. */
async function wasReadmitted(
  host: string,
  plans: readonly MovePlan[],
  entries: Entries,
): Promise<boolean> {
  if (hasLifted(host, entries)) return true;
  const matching = plans.filter(({ manifest }) => manifest.from.some((one) => one.host === host));
  const fencing = matching.filter(({ manifest }) => fences(manifest, host));
  if ((await fencesOf(fencing, entries)) > 0) return false;
  const among = (some: readonly MovePlan[], entry: Entry, act: Entry["do"]): boolean =>
    entry.do === act && "plan" in entry && some.some(({ sha256 }) => sha256 === entry.plan);
  const lifted = entries.findLastIndex((entry) => among(fencing, entry, "undone"));
  return lifted > entries.findLastIndex((entry) => among(matching, entry, "begin"));
}

function judgeHost(
  { host, id, report_count }: OldHost,
  service: ComputeHost | undefined,
  { fenced, runs, started }: Record<"fenced" | "runs" | "started", boolean>,
): RowVerdict {
  const resource = `services:${service?.id ?? id ?? host}`;
  const row = (reason: string | null): RowVerdict => verdictsOf(null)(resource, reason);
  // The record was deleted. nova-compute creates a new one when it starts.
  if (service === undefined) return row(null);
  if (started)
    return row(
      `nova-compute of ${host} started and created a new service record: stop it, or run host readmit. It takes over idle machines`,
    );
  if (!fenced) return row(`${host} is no longer fenced, but was not readmitted`);
  if (!runs) return row(null);
  const was = report_count === null ? "" : `${report_count}, now `;
  return row(
    `nova-compute of ${host} runs again (report_count ${was}${service.report_count}): stop it. It executes its queue and takes over idle machines`,
  );
}

/** Includes hosts in the journal, because an agent's last plan may move nothing. */
function oldHosts({ manifest }: MovePlan, entries: Entries): readonly OldHost[] {
  const byHost = new Map(manifest.from.map((one) => [one.host, one]));
  for (const entry of entries) {
    const move =
      entry.do === "start" && entry.part === LEGACY && isObject(entry.observed)
        ? entry.observed.move
        : null;
    if (!isObject(move) || typeof move.from !== "string" || move.from === move.to) continue;
    const { from: host } = move;
    if (!byHost.has(host))
      byHost.set(host, { host, id: null, report_count: null, last_seen_up: null });
  }
  return [...byHost.values()];
}

export async function isAbout(host: string, plan: MovePlan, entries: Entries): Promise<boolean> {
  if (oldHosts(plan, entries).some((one) => one.host === host)) return true;
  for await (const batch of plan.lines()) if (batch.some(({ from }) => from === host)) return true;
  return false;
}

/** An operator may have changed Nova's time of the last report, so callers watch the host. */
function ranSinceFenced(
  { report_count }: OldHost,
  service: ComputeHost | undefined,
  { age, fenced }: Lease,
): boolean {
  if (service === undefined) return false;
  if (report_count !== null && service.report_count !== report_count) return true;
  // Fenced by hand, without a time.
  if (fenced === null) return report_count === null;
  return age < fenced || (service.age !== null && service.age * 1000 < fenced);
}
