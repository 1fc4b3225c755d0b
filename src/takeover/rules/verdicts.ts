import type { RowVerdict } from "../../model/artefact.ts";
import type { OwnedCompute } from "../../model/nova/host-move.ts";

type Verdict = (resource: string, reason: string | null) => RowVerdict;

export function verdictsOf(uuid: string | null, bm_node_id: number | null = null): Verdict {
  return (resource, reason) => ({
    ...{ resource, uuid, bm_node_id, differs: [], reason },
    state: reason === null ? "validated" : "mismatched",
  });
}

/** Expects one compute node per machine. @param faultOf returns its fault */
export function* judgeComputes(
  row: Verdict,
  computes: readonly OwnedCompute[],
  to: string,
  faultOf: (compute: OwnedCompute) => string | null,
): Generator<RowVerdict> {
  const [first, ...more] = computes;
  if (more.length > 0) {
    const owners = computes.map(({ owner }) => owner).join(", ");
    yield row("compute_nodes", `${computes.length} live rows: ${owners}`);
  } else if (first === undefined)
    yield row("compute_nodes", `no live row. nova-compute of ${to} creates one at its next pass`);
  else yield row(`compute_nodes:${first.id}`, faultOf(first));
}
