import { MigrationError } from "../lib/error.ts";
import { listed, NAMED } from "../lib/text.ts";
import { hasReported } from "../migrate/hosts/rules/running.ts";
import { blocks } from "../model/finding.ts";
import type { LeftHost } from "../model/nova/host-move.ts";
import type { NovaTarget } from "../model/nova/nova-plan.ts";
import type { MovePlan } from "../run/host-files.ts";
import type { Sink } from "../run/sink.ts";
import { watchHost } from "./host-watch.ts";
import type { HostPair, MoveAsked, MoveWorld } from "./rules/move-hosts.ts";
import { createMoves } from "./rules/moves.ts";
import type { MoveTarget } from "./target.ts";

/**
 * Hosts as they report now, once each was seen to stand still for as long as Nova takes to call one down: an
 * age alone is the word of their own clock. What passed since the plan counts where nothing was reported in
 * it; a takeover's hosts were watched before it.
 *
 * @throws MigrationError N2I-E316 when one reports meanwhile
 */
export async function silentSince(
  target: NovaTarget,
  place: Pick<MoveTarget, "database">,
  { mode, from, looked_at, service_down_time: down }: MovePlan["manifest"],
  sink: Pick<Sink, "say">,
): Promise<readonly LeftHost[]> {
  const beats = await target.beats(from.map(({ host }) => host));
  const passed = (Date.now() - Date.parse(looked_at)) / 1000;
  // A clock that was set back: nothing is known to have passed.
  const rest = mode === "takeover" ? 0 : passed >= 0 ? down - passed : down;
  const waits = beats.map((beat) => {
    const was = from.find(({ id }) => id === beat.id);
    return { host: beat.host, seconds: hasReported(was, beat) ? down : rest };
  });
  await Promise.all(
    waits
      .filter(({ seconds }) => seconds > 0)
      .map(({ host, seconds }) => watchHost(place, host, seconds, sink)),
  );
  return beats;
}

/** @throws MigrationError N2I-E316 */
export async function checkDead(target: NovaTarget, seen: readonly LeftHost[]): Promise<void> {
  const now = await target.beats(seen.map(({ host }) => host));
  const alive = now.filter(({ id, report_count, last_seen_up }) => {
    const was = seen.find((one) => one.id === id);
    // A row that is new says that its nova-compute started. Before Liberty nothing but the count tells.
    return hasReported(was && { ...was, last_seen_up }, { report_count, last_seen_up });
  });
  if (alive.length === 0) return;
  const names = alive.map(({ host, age }) => `${host} ${age} s ago`);
  throw new MigrationError("N2I-E316", `nova-compute reported from ${listed(names, NAMED)}`);
}

/**
 * Looks once more at the hosts of machines that are to move.
 *
 * @throws MigrationError N2I-E317 saying what stands against them
 */
export async function checkPairs(world: MoveWorld, { manifest, lines }: MovePlan): Promise<void> {
  const { mode, to, service_down_time: down, nova_bm } = manifest;
  // The plan held aggregates against its machines, or was told not to.
  const driver = nova_bm === undefined ? {} : { driver: "baremetal" as const };
  const asked: MoveAsked = { mode, to, down, forceAggregates: true, reason: "", ...driver };
  const moves = createMoves(world, asked, () => []);
  const pairs = new Map<string, HostPair>();
  for await (const batch of lines())
    for (const { verdict, from, to } of batch)
      if (verdict === "move" && from !== to) pairs.set(JSON.stringify([from, to]), { from, to });
  const against = [...pairs.values()].flatMap(({ from, to }) =>
    moves.judged(from, to).filter(blocks),
  );
  const texts = [...new Set(against.map(({ place, message }) => `${message} (${place})`))];
  if (texts.length > 0) throw new MigrationError("N2I-E317", listed(texts, NAMED, "; "));
}
