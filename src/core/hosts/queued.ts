import type { Finding } from "../../model/finding.ts";
import { finding } from "../../model/judge.ts";
import type { Machine } from "../../model/machine.ts";
import type { MachineRows } from "../../model/nova-rows.ts";
import { toldRequest } from "../../model/requests.ts";

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
