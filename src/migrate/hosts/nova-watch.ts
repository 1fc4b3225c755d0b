import { MigrationError } from "../../lib/error.ts";
import { listed, NAMED } from "../../lib/text.ts";
import type { HostBeat, NovaTarget } from "../../model/nova/nova-plan.ts";
import { now as moment, rest } from "../../run/process-context.ts";
import { restOfMinute, runningComputes } from "./rules/running.ts";

export interface Watching {
  readonly seconds: number;
  /** The operator allows a running nova-compute. */
  readonly allowed: boolean;
  /** The operator accepts requests that are left in a message queue. */
  readonly queued?: boolean;
  readonly tell: (text: string) => void;
}

/** A watch over the nova-computes of hosts, which starts when it is opened. */
export type ComputeWatch = Awaited<ReturnType<typeof watchComputes>>;

/** Milliseconds between two checks. */
const PACE = 500;

/** Checks when opened, and then detects each report. @throws MigrationError N2I-E310 */
export async function watchComputes(
  beats: NovaTarget["beats"],
  hosts: readonly string[],
  { seconds, allowed, tell }: Watching,
  stopping: () => boolean,
) {
  const first = await beats(hosts);
  if (hosts.length > 0 && first.length === 0)
    tell(
      `Warning: nova has no nova-compute on ${listed(hosts, NAMED)}, so no heartbeat is watched.`,
    );
  const end = moment() + seconds * 1000;
  const check = async (now: typeof first): Promise<void> => {
    const running = runningComputes(first, now);
    if (running.length === 0) return;
    const text = `nova-compute reported from ${listed(running, NAMED)}`;
    if (!allowed) throw new MigrationError("N2I-E310", text);
    if (now === first) tell(`Warning: ${text}`);
  };
  await check(await patient(first, () => beats(hosts), allowed ? null : tell, stopping));
  const inspect = async (): Promise<void> => check(await beats(hosts));
  return {
    /** @throws MigrationError N2I-E310 naming hosts and their last reports */
    inspect,
    /** Checks repeatedly until the watch time is over, counted from the opening. */
    async settle(): Promise<void> {
      if (!allowed && first.length > 0 && moment() < end) {
        tell(`Watching heartbeats of nova-compute for ${seconds} s.`);
        for (; moment() < end && !stopping(); await inspect())
          await rest(Math.max(0, Math.min(PACE, end - moment())));
      }
      await inspect();
    },
  };
}

/** Waits for the rest of a minute, in case the last report was final. @param tell null: no wait */
async function patient<T extends readonly HostBeat[]>(
  first: T,
  again: () => Promise<T>,
  tell: Watching["tell"] | null,
  stopping: () => boolean,
): Promise<T> {
  const left = restOfMinute(first);
  if (tell === null || left === 0) return first;
  tell(`A nova-compute reported nearly a minute ago: waiting ${left} s for another report.`);
  for (const end = moment() + left * 1000; moment() < end && !stopping(); )
    await rest(Math.max(0, Math.min(PACE, end - moment())));
  return again();
}
