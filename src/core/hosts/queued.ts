import type { Finding } from "../../model/finding.ts";
import { blocks, finding } from "../../model/judge.ts";
import type { Machine } from "../../model/machine.ts";
import type { MachineRows } from "../../model/nova-rows.ts";
import { toldRequest, toldTaskState } from "../../model/requests.ts";

/** Requests that a nova-compute has not begun, and would begin when it starts again. */
export function queuedIn(
  { node }: Machine,
  { instance, queued = [] }: MachineRows,
): readonly Finding[] {
  if (instance === null || (instance.deleted ?? 0) !== 0 || instance.host === null) return [];
  const { host, uuid } = instance;
  return queued.map((request) =>
    finding("N2I-D243", `bm_nodes.id=${node.id} instance ${uuid}`, toldRequest(request, host)),
  );
}

/**
 * A task_state that stays while nova-compute is dead: what it was to do waits in the queue, whether or
 * not instance_actions tells. It is said beside the finding that blocks for it, which may be accepted alone.
 */
export function maybeQueued(
  { node }: Machine,
  { instance, queued = [] }: MachineRows,
  findings: readonly Finding[],
): readonly Finding[] {
  const busy = findings.some((found) => found.code === "N2I-D206" && blocks(found));
  if (!busy || queued.length > 0 || instance === null || (instance.deleted ?? 0) !== 0) return [];
  const { host, uuid, task_state } = instance;
  if (host === null || task_state === null) return [];
  const where = `bm_nodes.id=${node.id} instance ${uuid}`;
  return [finding("N2I-D243", where, toldTaskState(task_state, host))];
}
