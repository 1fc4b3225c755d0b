import { standing, wayThere } from "../core/hosts/legacy-way.ts";
import { readJournal } from "../edge/disk/journal.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { holderText, type LockState, takenLocks } from "../edge/leases/locks.ts";
import type { RowVerdict } from "../model/artefact.ts";
import type { LegacyMove } from "../model/legacy-move.ts";
import type { MovePlan } from "./host-files.ts";
import { stillMoved } from "./legacy-back.ts";
import { machinesOf } from "./legacy-moves.ts";
import type { LegacyPlace } from "./legacy-place.ts";

/** Machines that are looked at together. */
const PAGE = 100;

/** Compares both databases with what was to become of each machine of a run. */
export async function* judgeLegacy(
  run: RunFolder,
  { look, leases }: LegacyPlace,
  plan: MovePlan,
): AsyncGenerator<RowVerdict> {
  const { entries } = await readJournal(run);
  const moves = new Map<string, LegacyMove>();
  for await (const some of machinesOf(plan)) for (const { id, move } of some) moves.set(id, move);
  // What each was before, its first start says.
  for (const { id, move } of stillMoved(entries)) moves.set(id, move);
  const all = [...moves.values()];
  for (let at = 0; at < all.length; at += PAGE) {
    const some = all.slice(at, at + PAGE);
    const now = await look(some);
    const locks = new Map((await takenLocks(leases)).map((lock) => [lock.resource, lock]));
    for (const [index, move] of some.entries()) {
      const seen = now[index];
      const lock = locks.get(`node:${move.uuid.toLowerCase()}`);
      if (seen !== undefined) yield* judgeMachine(move, seen, lock);
    }
  }
}

function* judgeMachine(
  move: LegacyMove,
  now: Parameters<typeof standing>[1],
  lock: LockState | undefined,
): Generator<RowVerdict> {
  const { id, uuid, to, tenant: was } = move;
  const row = (resource: string, reason: string | null): RowVerdict => ({
    ...{ resource, uuid, bm_node_id: id, differs: [], reason },
    state: reason === null ? "validated" : "mismatched",
  });
  const stands = standing(wayThere(move), now);
  const owner = now.node?.service_host ?? null;
  const why =
    stands.is === "other"
      ? stands.why
      : `service_host is ${owner}, and was to be ${to}; its task_state ${now.node?.task_state}`;
  const held = lock === undefined ? "" : `; its lock is ${holderText(lock)}`;
  yield row(`bm_nodes:${id}`, stands.is === "after" ? null : `${why}${held}`);
  const names = now.node?.instance_uuid ?? null;
  if (was !== null && names !== null) {
    const { tenant } = now;
    const gone = tenant === null ? "not in Nova" : tenant.deleted ? "deleted in Nova" : null;
    if (gone !== null)
      yield row(`instances:${was.id}`, `orphaned: bm_nodes names ${names}, which is ${gone}`);
    else yield row(`instances:${was.id}`, hostFault(tenant?.host ?? null, to));
  }
  const [first, ...more] = now.computes;
  if (more.length > 0) {
    const owners = now.computes.map((one) => one.owner).join(", ");
    yield row("compute_nodes", `${now.computes.length} live rows: ${owners}`);
  } else if (first === undefined)
    yield row("compute_nodes", `no live row; nova-compute of ${to} makes one at its next pass`);
  else yield row(`compute_nodes:${first.id}`, hostFault(first.owner, to));
}

function hostFault(host: string | null, to: string): string | null {
  return host === to ? null : `host is ${host ?? "none"}, and was to be ${to}`;
}
