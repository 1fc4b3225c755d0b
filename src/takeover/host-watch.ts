import { MigrationError } from "../lib/error.ts";
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
