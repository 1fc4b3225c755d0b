import { startedChangesIn } from "../../engine/started.ts";
import type { Position, WindowPart } from "../../engine/window-part.ts";
import { regroup } from "../../lib/streams.ts";
import {
  HAND_OVER,
  type Handover,
  isOwned,
  type Judged,
  type ObservedNode,
} from "../../model/handover.ts";
import { type Entries, IRONIC } from "../../model/journal.ts";
import type { Row } from "../../model/machine.ts";
import { isLoaded, nodeOf, type PlannedMachine } from "../../model/plan.ts";
import { failpoint } from "../../run/failpoint.ts";
import {
  AGAIN,
  isTakenOver,
  judge,
  lockedBy,
  overdue,
  type PlannedNode,
  without,
} from "./rules/judge.ts";
import { createPacing } from "./rules/pacing.ts";
import type { createConductorHealth } from "./rules/successors.ts";

export interface HandOverPosition extends Position {
  readonly judged: Judged;
  readonly log: readonly string[];
}

type HandOverPart = WindowPart<PlannedNode, HandOverPosition>;

const BATCH = 128;

export async function* plannedNodes(
  plan: AsyncIterable<readonly PlannedMachine[]>,
  isSelected: (machine: PlannedMachine) => boolean,
): AsyncGenerator<readonly PlannedNode[]> {
  for await (const batch of regroup(plan, BATCH)) yield batch.filter(isSelected).flatMap(nodesOf);
}

/** The nodes of a loaded machine. Empty for others. */
export function nodesOf(machine: PlannedMachine): readonly PlannedNode[] {
  const { records, bm_node_id, boot } = machine;
  const row = nodeOf(records);
  if (!isLoaded(machine) || row === undefined) return [];
  const root = boot && { root: boot.root_uuid };
  return [{ id: String(row.uuid), bm_node_id, row, ...root }];
}

export function takeOversOf(machine: PlannedMachine): number {
  return nodesOf(machine).filter(isTakenOver).length;
}

/** Nodes that this run handed over, without those staged again or rolled back. */
export function releasedNodes(entries: Entries): ReadonlySet<string> {
  return new Set(startedChangesIn(entries, HAND_OVER, IRONIC).keys());
}

/**
 * Ends the maintenance of staged machines and waits for their takeover. Machines without a
 * suitable conductor stay staged. If all conductors of a machine fail, the wait ends.
 * @param now milliseconds
 * @param notice receives messages about all machines
 * @param deadline seconds for a conductor
 */
export function handOverPart(
  { observe, clear }: Pick<Handover, "observe" | "clear">,
  health: Awaited<ReturnType<typeof createConductorHealth>>,
  { now, notice }: { readonly now: () => number; readonly notice: (text: string) => void },
  deadline: number,
) {
  const pacing = createPacing(deadline * 1000);
  /** The logs are read for these machines. */
  let inProgress = new Map<string, Row>();
  const inspect = async (): Promise<void> => {
    for (const text of await health.inspect(inProgress)) notice(text);
  };
  const living = (): number => health.living(inProgress.values());
  const ended = (id: string, judged: Judged): HandOverPosition => {
    inProgress.delete(id);
    const well = judged.state === "done" || judged.state === "held";
    return { is: well ? "after" : "other", judged, log: health.quoted(id) };
  };
  const waits = (id: string, row: Row): void => {
    if (row.provision_state === "active" && !inProgress.has(id)) pacing.released(id, now());
    inProgress.set(id, row);
  };
  const positionOf = (
    { id, row }: PlannedNode,
    observed: ObservedNode | undefined,
    watched: boolean,
  ): HandOverPosition => {
    const noConductor = health.reasonNoConductor(row);
    const judged = judge(row, observed, noConductor);
    const { state } = judged;
    if (state !== "waiting" && state !== "staged") return ended(id, judged);
    if (watched && noConductor !== null) return ended(id, without(noConductor, "failed"));
    if (state === "waiting") waits(id, row);
    return { is: state === "staged" ? "before" : "partway", judged, log: [] };
  };
  const part: HandOverPart = {
    ...{ name: HAND_OVER, size: BATCH, room: () => pacing.most(living()) },
    async inspect(changes, watched) {
      const ids = changes.map(({ id }) => id);
      if (watched) inProgress = new Map(changes.map(({ id, row }) => [id, row]));
      if (watched) await inspect();
      const conductors = living();
      const nodes = await observe(ids);
      const positions = changes.map((change) => positionOf(change, nodes.get(change.id), watched));
      const inspected = changes.map(({ id, row }, at) => {
        const { taker, reservation } = nodes.get(id) ?? {};
        const used = row.provision_state === "active";
        return { id, used, is: positions[at]?.is, by: taker?.hostname ?? reservation ?? null };
      });
      if (watched) pacing.inspected(now(), conductors, inspected);
      return positions;
    },
    async perform({ id, row }, position, begin) {
      if (inProgress.size === 0) await inspect();
      const noConductor = health.reasonNoConductor(row);
      if (noConductor !== null) return ended(id, without(noConductor, "staged"));
      await begin();
      waits(id, row);
      // If a conductor has reserved the machine, nothing changes, and the watch tries again.
      await clear(id);
      await failpoint("clear.committed");
      return { ...position, is: "partway" };
    },
    overdue({ id, row }, { judged }) {
      pacing.inspected(now(), living(), [{ id, used: true, is: "other", by: null }]);
      return ended(id, overdue(row, deadline, judged.reason));
    },
  };
  return { ...part, rate: pacing.rate };
}

/** Puts machines that this run handed over into maintenance. Changes of a conductor are kept. */
export function restagePart(
  handover: Pick<Handover, "observe" | "stage">,
): HandOverPart & { readonly rate?: () => number | null } {
  const inspect: HandOverPart["inspect"] = async (changes) => {
    const observed = await handover.observe(changes.map(({ id }) => id));
    return changes.map((node) => stagedAgain(node, observed.get(node.id)));
  };
  return {
    ...{ name: HAND_OVER, size: BATCH, inspect },
    async perform(change, position, begin) {
      await begin();
      const staged = await handover.stage(change.id);
      await failpoint("restage.committed");
      if (staged) return { ...position, is: "after" };
      const [now] = await inspect([change], false);
      return now === undefined || now.is === "before" ? waitsFor("a conductor") : now;
    },
  };
}

function stagedAgain({ row }: PlannedNode, node: ObservedNode | undefined): HandOverPosition {
  const judged = judge(row, node);
  if (node !== undefined && isOwned(node.maintenance, node.maintenance_reason))
    return { is: "after", judged, log: [] };
  if (node === undefined || node.maintenance)
    return { is: "other", judged: { ...judged, fix: judged.fix ?? AGAIN }, log: [] };
  return node.reservation === null ? { is: "before", judged, log: [] } : waitsFor(node.reservation);
}

function waitsFor(holder: string): HandOverPosition {
  return { is: "waiting", judged: lockedBy(holder), log: [] };
}
