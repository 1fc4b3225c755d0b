import { MigrationError } from "../../lib/error.ts";
import type { SkippedRow } from "../../model/change.ts";
import type { Entries } from "../../model/journal.ts";
import { closing } from "../../run/databases.ts";
import { runFence } from "../../run/fence-command.ts";
import { readJournal } from "../../run/files/journal.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { checkWindow } from "../../run/files/window-file.ts";
import type { MovePlan } from "../../run/host-files.ts";
import { inRun } from "../../run/run.ts";
import { saveOptions } from "../../run/saved-options.ts";
import type { Sink } from "../../run/sink.ts";
import type { HostMoved } from "../host-moves.ts";
import { hostsIn, type PlannedMoves } from "../host-plan.ts";
import { askDown, checkMovable, type TakeoverOptions, watchedPlan } from "../host-takeover.ts";
import { downTime } from "../host-watch.ts";
import { readLeases } from "../leases/leases.ts";
import { type LegacyClients, legacyOptions, openLegacyClients } from "./legacy-clients.ts";
import { fenceByHand } from "./legacy-fence.ts";
import { legacyMoved, performLegacy } from "./legacy-move.ts";
import { checkAny, withLegacy } from "./legacy-moves.ts";
import { reportPorts } from "./legacy-ports.ts";
import { openIn, takeMachines } from "./legacy-take.ts";
import { movedMachines } from "./steps/legacy-started.ts";

/**
 * Does the same as an agent: watches the host, fences its lease, then moves its machines. The same
 * command resumes.
 *
 * @param show receives the plan before the question
 * @returns null if nothing was done
 * @throws MigrationError N2I-E316 if the host is up, N2I-E100 for more than one destination
 */
export function takeOverLegacy(
  options: TakeoverOptions,
  sink: Sink,
  show: (made: PlannedMoves) => Promise<void>,
): Promise<HostMoved | null> {
  const { from } = options;
  const [to = "", ...more] = hostsIn(options);
  if (more.length > 0)
    throw new MigrationError(
      "N2I-E100",
      "--to accepts only this host, to which --tftp-root belongs",
      { fix: "To use more hosts, run host plan and host move on each host." },
    );
  return inRun(
    options.run,
    "host takeover",
    { kind: "takeover", variant: "baremetal", create: true },
    (run) =>
      closing(async (keep) => {
        const allOptions = await legacyOptions(run, options);
        const clients = await openLegacyClients(
          allOptions,
          keep,
          { readOnly: options.plan },
          sink.report,
        );
        let before: WentOn = { confirmed: false, moved: 0, whys: [] };
        const plan = await watchedPlan(run, clients, options, {
          ...{ sink, show },
          async before() {
            await checkWindow(run, "host takeover");
            if (!options.plan) before = (await goOn(run, clients, options, { to, sink })) ?? before;
          },
        });
        if (options.plan) return null;
        const { entries } = await readJournal(run);
        const half = await unfinishedMoves(plan, entries, before.whys);
        const taken = movedMachines(entries).filter(({ move }) => move.from === from).length;
        if (plan.manifest.counts.machines === 0 && taken > 0) {
          if (!before.confirmed) await askDown(options, { machines: 0, to }, clients, sink);
          const found = taken - before.moved - half.length;
          const all = { made: before.moved, found, skipped: [...half], locked: 0, stopped: false };
          return legacyMoved(plan, 0, all);
        }
        await checkMovable(plan);
        await saveOptions(run, "host", allOptions);
        await askDown(options, { machines: plan.manifest.counts.verdicts.move, to }, clients, sink);
        const acting = { hosts: [from] };
        const fenced = await withLegacy(run, clients, [plan], acting, async ({ session }) => {
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
        return legacyMoved(plan, fenced, { ...moved, skipped, made: moved.made + before.moved });
      }),
  );
}

interface WentOn {
  readonly confirmed: boolean;
  readonly moved: number;
  readonly whys: readonly SkippedRow[];
}

/** Claimed machines with an unfinished move, which a plan of the old host no longer contains. */
async function unfinishedMoves(
  { lines }: MovePlan,
  entries: Entries,
  whys: readonly SkippedRow[],
): Promise<readonly SkippedRow[]> {
  const planned = new Set<string>();
  for await (const batch of lines()) for (const { uuid } of batch) planned.add(uuid);
  return openIn(entries).flatMap(({ id: uuid }) => {
    const id = `machine:${uuid}`;
    const { reason } = whys.find((one) => one.id === id) ?? { reason: "its move is unfinished" };
    return planned.has(uuid) ? [] : [{ id, reason }];
  });
}

/**
 * Unclaimed machines are planned again.
 *
 * @throws MigrationError N2I-E100 if moves to another host were started, because that host creates
 * their boot files
 */
async function goOn(
  run: RunFolder,
  clients: LegacyClients,
  options: TakeoverOptions,
  { to, sink }: { readonly to: string; readonly sink: Sink },
): Promise<WentOn | null> {
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
  return { confirmed: true, moved, whys: skipped };
}
