import { execute } from "../engine/execute.ts";
import { MigrationError } from "../lib/error.ts";
import { listed, NAMES } from "../lib/text.ts";
import type { Entries } from "../model/journal.ts";
import { lasts } from "../model/nova/leases.ts";
import { MIGRATING } from "../model/nova/legacy-move.ts";
import type { NovaStep } from "../model/nova/nova-plan.ts";
import { queueOf } from "../model/nova/requests.ts";
import { closing } from "../run/databases.ts";
import { readJournal } from "../run/files/journal.ts";
import type { RunFolder } from "../run/files/run-folder.ts";
import { checkWindow } from "../run/files/window-file.ts";
import { type MovePlan, movePlans, presentMoves } from "../run/host-files.ts";
import { inRun } from "../run/run.ts";
import type { Sink } from "../run/sink.ts";
import { instancesOn } from "../systems/nova-db/legacy.ts";
import { servedElsewhere } from "../systems/nova-db/machines.ts";
import { readServices } from "../systems/nova-db/services.ts";
import { type LegacyClients, savedOptions } from "./baremetal/legacy-clients.ts";
import { hasLifted, lastReadmission, lifting } from "./baremetal/legacy-fence.ts";
import { withLegacy } from "./baremetal/legacy-moves.ts";
import { withHosts } from "./host-moves.ts";
import { checkSpelling } from "./host-plan.ts";
import { isAbout } from "./host-verify.ts";
import { isSilentAgain, longestDownTime } from "./host-watch.ts";
import { liftFence, readLeases } from "./leases/leases.ts";
import { instanceOwners, nodesOf } from "./leases/nodes.ts";
import { openTarget } from "./open-target.ts";
import { isUnlocked } from "./rules/legacy-states.ts";
import { fenceLeg, fencesOf } from "./steps/host-move.ts";
import type { HostOptions, MoveTarget } from "./target.ts";

interface ReadmitOptions extends HostOptions {
  readonly run: string;
  readonly compute: string;
  readonly queuePurged: boolean;
}

interface Readmission {
  readonly run: RunFolder;
  readonly plans: readonly MovePlan[];
  readonly options: ReadmitOptions;
  readonly entries: Entries;
  readonly sink: Sink;
}

/**
 * Lifts the fence of a host. Moved machines stay on their new hosts.
 *
 * @returns milliseconds in which its agent must start; 0 without a lease; null if it is not fenced
 * @throws MigrationError N2I-E319 if its queue may not be empty, a move is unfinished, an instance
 * names it while another host has the machine, or its nova-compute runs
 */
export function readmit(
  variant: MoveTarget["variant"],
  options: ReadmitOptions,
  sink: Sink,
): Promise<number | null> {
  return inRun(options.run, "host readmit", { kind: "takeover", variant }, async (run) => {
    const { entries } = await readJournal(run);
    const plans = await (variant === "ironic" ? fencing : takes)(run, options.compute, entries);
    await checkWindow(run, "host readmit");
    return closing(async (keep) => {
      const where = await savedOptions(variant, run, options);
      const target = await openTarget(variant, where, keep, { readOnly: false }, sink.report);
      const readmission = { run, plans, options, entries, sink };
      return target.variant === "ironic"
        ? liftFences(target, readmission)
        : liftLease(target, readmission);
    });
  });
}

/** Includes plans without a service to fence. @throws MigrationError N2I-E319 */
async function fencing(
  run: RunFolder,
  host: string,
  entries: Entries,
): Promise<readonly MovePlan[]> {
  const plans: MovePlan[] = [];
  for (const plan of await movePlans(run, entries)) {
    checkSpelling(host, plan.manifest.from);
    const { mode, from } = plan.manifest;
    const noFence = mode === "takeover" && from.some((one) => one.host === host && one.id === null);
    const fences = await fencesOf([plan], entries, { selects: ofHost(host) });
    if (fences > 0 || noFence) plans.push(plan);
  }
  if (plans.length > 0 && !hasLifted(host, entries)) return plans;
  throw new MigrationError("N2I-E319", `this run did not fence ${host}`, {
    fix: `If another run fenced the host, readmit it there. If an operator forced it down, run: openstack compute service set --up ${host} nova-compute`,
  });
}

/** @throws MigrationError N2I-E319 if no plan moved machines of the host */
async function takes(run: RunFolder, host: string, entries: Entries): Promise<readonly MovePlan[]> {
  const plan = await presentMoves(run);
  checkSpelling(host, plan.manifest.from);
  if (await isAbout(host, plan, entries)) return [plan];
  throw new MigrationError("N2I-E319", `this run did not move any machine of ${host}`, {
    fix: "Pass the run folder of its takeover as --run. For an agent, it is FOLDER/HOST-EPOCH.",
  });
}

async function liftFences(clients: MoveTarget, readmission: Readmission): Promise<number | null> {
  const { run, plans, options, sink } = readmission;
  const { compute: host } = options;
  const { database } = clients;
  const precondition = await mayComeBack(clients, readmission, async () =>
    foundIn(
      await servedElsewhere(database, host),
      `instances have host ${host}, but other hosts serve their machines`,
    ),
  );
  const [{ id } = { id: null }] = await readServices(database, [host]);
  const fenced = plans.filter(({ manifest }) => manifest.fence.some(({ key }) => key.id === id));
  await sink.confirm(
    fenced.length === 0
      ? `Readmit ${host}? Its service record was deleted, and its fence with it.`
      : `Lift the fence of ${host} in ${database.label}?`,
  );
  return withHosts(run, clients, plans, async ({ session, parts, check }) => {
    if (fenced.length === 0) {
      await precondition();
      await lifting(session, host);
      return 0;
    }
    let lifted = 0;
    for (const plan of fenced) {
      const leg = { ...fenceLeg(parts.fence, plan), check, precondition };
      const course = { direction: "back", only: { all: true, selects: ofHost(host) } } as const;
      const { done, skipped } = await execute([leg], session, course);
      const reasons = Array.from(skipped, ({ id, reason }) => `${id} ${reason}`);
      if (skipped.length > 0) throw new MigrationError("N2I-E300", reasons.join("; "));
      lifted += done;
    }
    return lifted === 0 ? null : 0;
  });
}

async function liftLease(clients: LegacyClients, readmission: Readmission): Promise<number | null> {
  const { run, plans, options, entries, sink } = readmission;
  const { compute: host } = options;
  const { leases } = clients;
  const locked = { hosts: [host] };
  const [lease] = await readLeases(leases, host);
  if (lease === undefined && hasLifted(host, entries)) return null;
  if (lease?.fenced_by === null) {
    if (lastReadmission(host, entries)?.do !== "start") return null;
    // The fence was lifted, but the process ended before it wrote the journal entry.
    await withLegacy(run, clients, plans, locked, ({ session }) => lifting(session, host));
    return lasts(lease) ? lease.ttl - lease.age : null;
  }
  const check = await mayComeBack(clients, readmission, () => holdersText(clients, host));
  await sink.confirm(
    lease === undefined
      ? `Readmit ${host}? ${leases.label} has no lease of it.`
      : `Lift the fence of ${host}'s lease in ${leases.label}?`,
  );
  await withLegacy(run, clients, plans, locked, async ({ session }) => {
    // Another process may have changed the fence before this process had the lock.
    await check();
    await lifting(session, host, async () => {
      if (lease !== undefined && !(await liftFence(leases, lease)))
        throw new MigrationError("N2I-E300", `the lease of ${host} was changed in the meantime`);
    });
  });
  return lease?.ttl ?? 0;
}

/**
 * @param holders returns the conflicts of its machines
 * @returns repeats the check
 * @throws MigrationError N2I-E319 with all reasons
 */
async function mayComeBack(
  clients: MoveTarget,
  { plans, options: { compute: host, queuePurged }, sink }: Readmission,
  holders: () => Promise<readonly string[]>,
): Promise<() => Promise<void>> {
  const reportCount = async (): Promise<number> =>
    (await readServices(clients.database, [host]))[0]?.report_count ?? 0;
  const past = plans.flatMap(({ manifest }) => manifest.from.filter((one) => one.host === host));
  /** Null: the host runs. */
  let silentCount: number | null = await reportCount();
  // Without an earlier read in a plan, silence is not proved. A host that ran is watched again.
  if (past.length === 0 || past.some(({ report_count }) => (report_count ?? 0) !== silentCount)) {
    const isSilent = await isSilentAgain(clients, host, longestDownTime(plans), sink);
    silentCount = isSilent ? await reportCount() : null;
  }
  const queue = queueOf(host);
  const notPurged = `${queue} may not be empty: run rabbitmqctl purge_queue ${queue} and pass --queue-purged`;
  const check = async (): Promise<void> => {
    const runs = silentCount !== (await reportCount());
    const reasons = [
      ...(runs ? [`nova-compute of ${host} runs again: stop it first`] : []),
      ...(await holders()),
      ...(queuePurged ? [] : [notPurged]),
    ];
    if (reasons.length > 0) throw new MigrationError("N2I-E319", reasons.join("; "));
  };
  await check();
  return check;
}

function ofHost(host: string): (step: NovaStep) => boolean {
  return ({ before }) => before?.host === host;
}

function foundIn(names: readonly string[], what: string): readonly string[] {
  return names.length === 0 ? [] : [`${what}: ${listed(names, NAMES)}`];
}

async function holdersText(
  { leases, database }: LegacyClients,
  host: string,
): Promise<readonly string[]> {
  const instances = await instancesOn(database, host);
  const uuids = instances.map(({ uuid }) => uuid);
  const taken = (await instanceOwners(leases, uuids)).flatMap((one) =>
    one.service_host === host ? [] : [one.instance_uuid],
  );
  const half = new Set<string>();
  for await (const page of nodesOf(leases, host))
    for (const { uuid, task_state } of page) if (task_state === MIGRATING) half.add(uuid);
  for (const { node, task_state } of instances)
    if (task_state === MIGRATING && node !== null) half.add(node);
  const locked = instances
    .filter(({ task_state }) => task_state !== MIGRATING)
    .filter((one) => isUnlocked(one) && !taken.includes(one.uuid));
  return [
    ...foundIn(taken, `instances have host ${host}, but other hosts have their machines`),
    ...foundIn([...half], `machines of ${host} have an unfinished move: roll it back or finish it`),
    ...foundIn(
      locked.map(({ uuid }) => uuid),
      `instances of ${host} have a lock without an owner, left by an interrupted move: roll the move back, finish it, or unlock them`,
    ),
  ];
}
