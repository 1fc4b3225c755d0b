import { blocks, type Finding, finding } from "../../model/finding.ts";
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
 * The same for a machine that is blocked already, so that all is told at once. A task_state that stays
 * while nova-compute is dead says it too: what it was to do waits in the queue, whether or not
 * instance_actions tells. The finding that blocks for it may be accepted alone.
 */
export function queuedOf(
  machine: Machine,
  rows: MachineRows,
  findings: readonly Finding[],
): readonly Finding[] {
  const known = queuedIn(machine, rows);
  const busy = findings.some((found) => found.code === "N2I-D206" && blocks(found));
  const { instance } = rows;
  if (known.length > 0 || !busy || instance === null || (instance.deleted ?? 0) !== 0) return known;
  const { host, uuid, task_state } = instance;
  if (host === null || task_state === null) return [];
  const where = `bm_nodes.id=${machine.node.id} instance ${uuid}`;
  return [finding("N2I-D243", where, toldTaskState(task_state, host))];
}
