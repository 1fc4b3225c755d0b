import type { RowVerdict, verdictsOf } from "../../model/artefact.ts";
import type { OwnedCompute } from "../../model/nova/host-move.ts";

/** Expects one compute node per machine. @param faultOf returns its fault */
export function* judgeComputes(
  row: ReturnType<typeof verdictsOf>,
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
