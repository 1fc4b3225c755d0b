import { MigrationError } from "../lib/error.ts";
import { readOsloFiles } from "../lib/files/oslo.ts";
import { hasReported } from "../migrate/hosts/rules/running.ts";
import type { HostBeat } from "../model/nova/nova-plan.ts";
import { now as moment, rest } from "../run/process-context.ts";
import type { Sink } from "../run/sink.ts";
import { readBeats } from "../systems/nova-db/services.ts";
import type { MoveTarget } from "./target.ts";

/** Milliseconds between two reads. */
const PACE = 500;

/**
 * Uses a monotonic clock, because the clock of the host or the server may be wrong.
 *
 * @returns the constant report of the host; undefined if Nova has no service
 * @throws MigrationError N2I-E316 if it reports
 */
export async function watchHost(
  { database }: Pick<MoveTarget, "database">,
  host: string,
  seconds: number,
  { say }: Pick<Sink, "say">,
): Promise<HostBeat | undefined> {
  const [seen] = await readBeats(database, [host]);
  // The plan reports the missing service.
  if (seen === undefined) return undefined;
  const end = moment() + seconds * 1000;
  say(
    `Watching ${host} for ${Number(seconds.toFixed(1))} s: report_count ${seen.report_count}, last report ${seen.age} s ago.`,
  );
  for (;;) {
    const [now] = await readBeats(database, [host]);
    if (now !== undefined && hasReported(seen, now))
      throw new MigrationError("N2I-E316", `nova-compute of ${host} reported ${now.age} s ago`);
    const left = end - moment();
    if (left <= 0) return seen;
    await rest(Math.min(PACE, left));
  }
}

/** Watches a fenced host as long as a dead one, because its clock may be wrong. */
export async function isSilentAgain(...watched: Parameters<typeof watchHost>): Promise<boolean> {
  return watchHost(...watched).then(
    () => true,
    (cause: unknown) => {
      if (cause instanceof MigrationError && cause.code === "N2I-E316") return false;
      throw cause;
    },
  );
}

export interface DownWords {
  readonly novaConf?: string;
  readonly serviceDownTime?: number;
}

/** Seconds. @source nova: [DEFAULT]service_down_time */
const DOWN = 60;

/** The same, or Nova's default. @throws MigrationError N2I-E104 */
export async function downTime(words: DownWords): Promise<number> {
  return (await saidDownTime(words)) ?? DOWN;
}

/** Seconds until a silent nova-compute is down, or null. @throws MigrationError N2I-E104 */
export async function saidDownTime({
  serviceDownTime,
  novaConf,
}: DownWords): Promise<number | null> {
  if (serviceDownTime !== undefined) return serviceDownTime;
  if (novaConf === undefined) return null;
  const text = (await readOsloFiles(novaConf.split(","), {})).get("DEFAULT", "service_down_time");
  if (text === null || text === undefined || text.trim() === "") return null;
  if (Number(text) > 0) return Number(text);
  throw new MigrationError("N2I-E104", `${novaConf}: service_down_time is not a number above 0`, {
    fix: "Correct [DEFAULT]service_down_time in that file, or give --service-down-time.",
  });
}
