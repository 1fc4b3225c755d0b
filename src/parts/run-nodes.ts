import { type GuardedNode, nodesOf } from "../core/handover/guards.ts";
import { type Ownership, ownershipOf, wasUndone } from "../engine/ownership.ts";
import { type Entry, IRONIC, type Span } from "../model/journal.ts";
import { isLoaded, type Origins, type PlannedMachine } from "../model/plan.ts";
import { regroup } from "../model/streams.ts";

/** A plan of a run. */
export interface RunPlan {
  readonly sha256: string;
  readonly origins: Origins;
  readonly lines: () => AsyncIterable<readonly PlannedMachine[]>;
}

const BATCH = 128;

/**
 * Nodes that a run loads and guards, of the machines that are wanted, each as the newest plan has it
 * that has it at all: a later plan may leave out what an earlier one loaded, and it is guarded still.
 *
 * @param plans the present one, then the others that loaded something, newest first
 */
export async function* runNodes(
  plans: readonly RunPlan[],
  journal: readonly Entry[],
  wanted: (machine: PlannedMachine) => boolean,
): AsyncGenerator<readonly GuardedNode[]> {
  const known = new Set<string>();
  for (const [nth, { sha256, origins, lines }] of plans.entries()) {
    const ownership = ownershipOf(journal, IRONIC, sha256);
    let to = 0;
    for await (const batch of regroup(lines(), BATCH)) {
      const from = to;
      to += batch.length;
      const near = ownership.begun.filter((span) => span.from < to && from < span.to);
      const nodes = batch.flatMap((machine, at) => {
        if (!isLoaded(machine) || !wanted(machine)) return [];
        const spans = near.filter((one) => one.from <= from + at && from + at < one.to);
        return nodesOf(machine, origins).flatMap((node) => {
          const there = isThere(ownership, spans, machine, node);
          const ours = there && !ownership.refused.has(`node:${node.uuid}`);
          if (known.has(node.uuid) || (nth > 0 && !ours)) return [];
          known.add(node.uuid);
          // What the present plan has still to load is missing as much as what is gone.
          return [there || spans.length === 0 ? node : { ...node, optional: true as const }];
        });
      });
      if (nodes.length > 0) yield nodes;
    }
  }
}

/** Whether a node's batch was begun, and no rollback took the node back since. */
function isThere(
  ownership: Ownership,
  spans: readonly Span[],
  { uuid }: PlannedMachine,
  { uuid: node }: GuardedNode,
): boolean {
  return spans.some((span) => !wasUndone(ownership, span, uuid ?? "", `node:${node}`));
}
