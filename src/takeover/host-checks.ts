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
 * Waits until each host was silent for service_down_time, because an age depends on the host's
 * clock. Silent time since the plan counts. The hosts of a takeover were watched before.
 *
 * @throws MigrationError N2I-E316 if one reports
 */
export async function silentSince(
  target: NovaTarget,
  place: Pick<MoveTarget, "database">,
  { mode, from, looked_at, service_down_time: down }: MovePlan["manifest"],
  sink: Pick<Sink, "say">,
): Promise<readonly LeftHost[]> {
  const beats = await target.beats(from.map(({ host }) => host));
  const passed = (Date.now() - Date.parse(looked_at)) / 1000;
  // If the clock was set back, no time counts.
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
    // A new row means that nova-compute started. Before Liberty, only report_count shows it.
    return hasReported(was && { ...was, last_seen_up }, { report_count, last_seen_up });
  });
  if (alive.length === 0) return;
  const names = alive.map(({ host, age }) => `${host} ${age} s ago`);
  throw new MigrationError("N2I-E316", `nova-compute reported from ${listed(names, NAMED)}`);
}

/** @throws MigrationError N2I-E317 with the reasons against source or destination hosts */
export async function checkPairs(world: MoveWorld, { manifest, lines }: MovePlan): Promise<void> {
  const { mode, to, service_down_time: down, nova_bm } = manifest;
  // The plan has checked the aggregates, or was told not to.
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
