import { MigrationError, orNull } from "../lib/error.ts";
import { readOsloFiles } from "../lib/files/oslo.ts";
import { listed, NAMES } from "../lib/text.ts";
import { hasReported } from "../migrate/hosts/rules/running.ts";
import { blocks } from "../model/findings.ts";
import type { OldHost } from "../model/nova/host-move.ts";
import type { HostBeat, NovaTarget } from "../model/nova/nova-plan.ts";
import type { MovePlan } from "../run/host-files.ts";
import { now as moment, rest } from "../run/process-context.ts";
import type { Sink } from "../run/sink.ts";
import { readServices } from "../systems/nova-db/services.ts";
import { judgeHosts, type MoveFacts } from "./rules/move-hosts.ts";
import type { HostOptions, MoveTarget } from "./target.ts";

export function longestDownTime(plans: readonly MovePlan[]): number {
  return Math.max(...plans.map(({ manifest }) => manifest.service_down_time));
}

/** Milliseconds between two reads. */
const PACE = 500;

/**
 * Uses a monotonic clock, because the clock of the host or the server may be wrong.
 *
 * @returns the constant report of the host; undefined if Nova has no service
 * @throws MigrationError N2I-E316 if it reports
 */
export async function watchHost(
  { database }: MoveTarget,
  host: string,
  seconds: number,
  { report }: Pick<Sink, "report">,
): Promise<HostBeat | undefined> {
  const [beat] = await readServices(database, [host]);
  // The plan reports the missing service.
  if (beat === undefined) return undefined;
  const end = moment() + (seconds + 1) * 1000; // the fence compares ages in whole seconds
  report(
    `Watching ${host} for ${Number(seconds.toFixed(1))} s: report_count ${beat.report_count}, last report ${beat.age} s ago.`,
  );
  for (;;) {
    const [now] = await readServices(database, [host]);
    if (now !== undefined && hasReported(beat, now))
      throw new MigrationError("N2I-E316", `nova-compute of ${host} reported ${now.age} s ago`);
    const remaining = end - moment();
    if (remaining <= 0) return beat;
    await rest(Math.min(PACE, remaining));
  }
}

/** Watches a fenced host as long as a dead one, because its clock may be wrong. */
export async function isSilentAgain(...watched: Parameters<typeof watchHost>): Promise<boolean> {
  return (await orNull(watchHost(...watched), "N2I-E316")) !== null;
}

/** Seconds. @source nova: [DEFAULT]service_down_time */
const DOWN = 60;

/** As `configuredDownTime`, or Nova's default. @throws MigrationError N2I-E104 */
export async function downTime(options: HostOptions): Promise<number> {
  return (await configuredDownTime(options)) ?? DOWN;
}

/** Seconds until a silent nova-compute is down, or null. @throws MigrationError N2I-E104 */
export async function configuredDownTime({
  serviceDownTime,
  novaConf,
}: HostOptions): Promise<number | null> {
  if (serviceDownTime !== undefined) return serviceDownTime;
  if (novaConf === undefined) return null;
  const text = (await readOsloFiles(novaConf.split(","), {})).get("DEFAULT", "service_down_time");
  if (text === null || text === undefined || text.trim() === "") return null;
  if (Number(text) > 0) return Number(text);
  throw new MigrationError("N2I-E104", `${novaConf}: service_down_time is not a number above 0`, {
    fix: "Correct [DEFAULT]service_down_time in that file, or use --service-down-time.",
  });
}

/**
 * Waits until each host was silent for service_down_time, because an age depends on the host's
 * clock. Silent time since the plan counts. The hosts of a takeover were watched before.
 *
 * @throws MigrationError N2I-E316 if one reports
 */
export async function silentSince(
  target: NovaTarget,
  clients: MoveTarget,
  { mode, from, looked_at, service_down_time: down }: MovePlan["manifest"],
  sink: Pick<Sink, "report">,
): Promise<readonly OldHost[]> {
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
      .map(({ host, seconds }) => watchHost(clients, host, seconds, sink)),
  );
  return beats;
}

/** @throws MigrationError N2I-E316 */
export async function checkDead(target: NovaTarget, oldHosts: readonly OldHost[]): Promise<void> {
  const now = await target.beats(oldHosts.map(({ host }) => host));
  const alive = now.filter(({ id, report_count, last_seen_up }) => {
    const was = oldHosts.find((one) => one.id === id);
    // A new row means that nova-compute started. Before Liberty, only report_count shows it.
    return hasReported(was && { ...was, last_seen_up }, { report_count, last_seen_up });
  });
  if (alive.length === 0) return;
  const names = alive.map(({ host, age }) => `${host} ${age} s ago`);
  throw new MigrationError("N2I-E316", `nova-compute reported from ${listed(names, NAMES)}`);
}

/** @throws MigrationError N2I-E317 with the reasons against source or destination hosts */
export async function checkPairs(facts: MoveFacts, { manifest, lines }: MovePlan): Promise<void> {
  const { mode, service_down_time: down, nova_bm } = manifest;
  const driver = nova_bm && ("baremetal" as const);
  // The plan has checked the aggregates, unless --force-aggregates was specified.
  const request = { mode, down, forceAggregates: true, driver };
  const texts = new Set<string>();
  for await (const batch of lines())
    for (const { verdict, from, to } of batch)
      if (verdict === "move" && from !== to)
        for (const { place, message } of judgeHosts(facts, request, from, to).filter(blocks))
          texts.add(`${message} (${place})`);
  if (texts.size > 0) throw new MigrationError("N2I-E317", listed([...texts], NAMES, "; "));
}
