import { MigrationError } from "../../lib/error.ts";
import type { SkippedRow } from "../../model/change.ts";
import type { Entries } from "../../model/journal.ts";
import { runFence } from "../../run/fence-command.ts";
import { readJournal } from "../../run/files/journal.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { checkWindow } from "../../run/files/window-file.ts";
import type { MovePlan } from "../../run/host-files.ts";
import { saveOptions } from "../../run/saved-options.ts";
import type { Sink } from "../../run/sink.ts";
import type { HostMoved } from "../host-moves.ts";
import {
  askDown,
  checkMovable,
  hostsIn,
  type Planning,
  type TakeoverOptions,
  watchedPlan,
} from "../host-plan.ts";
import { downTime } from "../host-watch.ts";
import { readLeases } from "../leases/leases.ts";
import type { LegacyClients } from "./legacy-clients.ts";
import { fenceByHand } from "./legacy-fence.ts";
import { checkAny, withLegacy } from "./legacy-moves.ts";
import { reportPorts } from "./legacy-ports.ts";
import { legacyMoved, openIn, performLegacy, takeMachines } from "./legacy-take.ts";
import { movedMachines } from "./steps/legacy-started.ts";

/**
 * As an agent: watches the host, fences its lease, then moves its machines.
 *
 * @param allOptions also those of earlier commands
 */
export async function takeOverLegacy(
  run: RunFolder,
  clients: LegacyClients,
  options: TakeoverOptions,
  allOptions: TakeoverOptions,
  { sink, show }: Planning,
): Promise<HostMoved | null> {
  const { from } = options;
  const [to = ""] = hostsIn(options);
  let resumed: Awaited<ReturnType<typeof goOn>> = null;
  const plan = await watchedPlan(run, clients, options, {
    ...{ sink, show },
    async before() {
      await checkWindow(run, "host takeover");
      if (!options.plan) resumed = await goOn(run, clients, options, { to, sink });
    },
  });
  if (options.plan) return null;
  const { moved: before, skipped: reasons } = resumed ?? { moved: 0, skipped: [] };
  const { entries } = await readJournal(run);
  const half = await unfinishedMoves(plan, entries, reasons);
  const taken = movedMachines(entries).filter(({ move }) => move.from === from).length;
  const { machines, verdicts } = plan.manifest.counts;
  if (machines === 0 && taken > 0) {
    if (resumed === null) await askDown(options, { machines: 0, to }, clients, sink);
    const found = taken - before - half.length;
    const all = { made: before, found, skipped: [...half], locked: 0, stopped: false };
    return legacyMoved(plan, 0, all);
  }
  await checkMovable(plan);
  await saveOptions(run, "host", allOptions);
  await askDown(options, { machines: verdicts.move, to }, clients, sink);
  const fenced = await withLegacy(run, clients, [plan], { hosts: [from] }, async ({ session }) => {
    await runFence(options, plan.sha256, session, sink);
    return fenceByHand(session, clients, from);
  });
  const [lease] = await readLeases(clients.leases, from);
  const ports = reportPorts(clients.ports, clients.read, sink.result);
  const moved = await performLegacy(run, clients, plan, sink, {
    silent: lease?.ttl,
    onMoved: (move) => ports.of([move]),
  });
  checkAny(moved);
  const skipped = [...half, ...moved.skipped];
  return legacyMoved(plan, fenced, { ...moved, skipped, made: moved.made + before });
}

/** Claimed machines with an unfinished move, which a plan of the old host no longer contains. */
async function unfinishedMoves(
  { lines }: MovePlan,
  entries: Entries,
  reasons: readonly SkippedRow[],
): Promise<readonly SkippedRow[]> {
  const planned = new Set<string>();
  for await (const batch of lines()) for (const { uuid } of batch) planned.add(uuid);
  return openIn(entries).flatMap(({ id: uuid }) => {
    const id = `machine:${uuid}`;
    const { reason } = reasons.find((one) => one.id === id) ?? { reason: "its move is unfinished" };
    return planned.has(uuid) ? [] : [{ id, reason }];
  });
}

/**
 * Unclaimed machines are planned again. Null if there was nothing to resume.
 *
 * @throws MigrationError N2I-E100 if moves to another host were started, because that host creates
 * their boot files
 */
async function goOn(
  run: RunFolder,
  clients: LegacyClients,
  options: TakeoverOptions,
  { to, sink }: { readonly to: string; readonly sink: Sink },
): Promise<{ readonly moved: number; readonly skipped: readonly SkippedRow[] } | null> {
  const open = openIn((await readJournal(run)).entries);
  if (open.length === 0) return null;
  const mismatch = open.find(({ move }) => move.to !== to || move.from !== options.from);
  if (mismatch !== undefined)
    throw new MigrationError(
      "N2I-E100",
      `this takeover was started with --from ${mismatch.move.from} --to ${mismatch.move.to}`,
      {
        fix: `Use the same options, or roll back first: nova2ironic rollback --run ${run.path} --all`,
      },
    );
  await askDown(options, { machines: open.length, to }, clients, sink);
  const request = { from: options.from, to, nodes: [], down: await downTime(options) };
  const { moved, skipped, stopped } = await takeMachines(run, clients, request, sink);
  if (stopped) throw new MigrationError("N2I-E301", "stopped while it resumed");
  for (const { id, reason } of skipped) sink.report(`${id}: ${reason}.`);
  return { moved, skipped };
}
