import { dutyOf, type GuardedNode, guardsOf } from "../core/handover/guards.ts";
import type { Guard, Guarded } from "../model/handover.ts";
import type { GuardPreview } from "../model/preview.ts";
import type { clearedFields } from "../parts/finish.ts";

/**
 * What the same command line would clear, and what it would leave; writes nothing.
 *
 * @param cleared on the way back: fields this run cleared, by node
 */
export async function* previewGuards(
  guard: Pick<Guard, "observe">,
  nodes: AsyncIterable<readonly GuardedNode[]>,
  cleared: ReturnType<typeof clearedFields> | null,
): AsyncGenerator<GuardPreview> {
  for await (const batch of nodes) {
    const seen = await guard.observe(batch.map(({ uuid }) => uuid));
    for (const node of batch) {
      const { uuid, bm_node_id } = node;
      const found = seen.get(uuid);
      const row = cleared === null ? toClear(node, found) : toProtect(node, cleared, found);
      if (row !== null) yield { uuid, bm_node_id, ...row };
    }
  }
}

type Row = Pick<GuardPreview, "action" | "fields" | "why"> | null;

function toClear(node: GuardedNode, found: Guarded | undefined): Row {
  const duty = dutyOf(node, found);
  switch (duty.do) {
    case "clear":
      return { action: "clear", fields: Object.keys(duty.change).join(" "), why: busy(found) };
    case "staged":
      return { action: "leave", fields: "", why: "still staged: hand it over first" };
    case "nothing":
      return duty.why === null ? null : { action: "keep", fields: "protected", why: duty.why };
    case "gone":
      return node.optional ? null : { action: "miss", fields: "", why: "not in Ironic" };
  }
}

function toProtect(
  node: GuardedNode,
  cleared: ReturnType<typeof clearedFields>,
  found: Guarded | undefined,
): Row {
  const ours = cleared.get(node.uuid);
  if (ours === undefined || found === undefined) return null;
  const fields = Object.keys(guardsOf(node, ours)).join(" ");
  return { action: "protect", fields, why: busy(found) };
}

function busy(found: Guarded | undefined): string {
  const holder = found?.reservation ?? null;
  return holder === null ? "" : `${holder} is working on it: it is waited for`;
}
