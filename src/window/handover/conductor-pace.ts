import { resolve } from "node:path";
import { orMessage } from "../../lib/error.ts";
import { type OsloConfig, readOsloFiles } from "../../lib/files/oslo.ts";
import { type TakeOverPace, USUAL_PACE } from "../../model/handover.ts";
import { processContext } from "../../run/process-context.ts";

/**
 * The takeover settings of conductors, from an ironic.conf of each. Null without files.
 * @throws MigrationError N2I-E104
 */
export async function paceOf(files: readonly string[]): Promise<TakeOverPace | null> {
  const read: OsloConfig[] = [];
  for (const path of new Set(files.map((file) => resolve(file))))
    read.push(await readOsloFiles([path]));
  if (read.length === 0) return null;
  const all = (key: string, usual: number): readonly number[] =>
    read.map((config) => {
      const text = config.get("conductor", key)?.trim() ?? "";
      return /^[+-]?\d+$/.test(text) ? Number(text) : usual;
    });
  const intervals = all("sync_local_state_interval", USUAL_PACE.interval);
  return {
    interval: Math.min(...intervals) <= 0 ? 0 : Math.max(...intervals),
    // A pass ends when the pool has no free worker. 100 is the smallest default of a release.
    workers: Math.min(
      ...all("periodic_max_workers", USUAL_PACE.workers),
      ...all("workers_pool_size", 100),
    ),
    conductors: read.length,
    from: read.length === 1 ? (files[0] ?? "") : `ironic.conf of ${read.length} conductors`,
  };
}

/**
 * As `paceOf`, from nova2ironic.yaml or the run's connections.yaml, or defaults, and the machines
 * that handover releases per minute, if a command of the run set it.
 */
export async function paceOfRun(run: string) {
  const { connections, saved, cwd } = processContext();
  const options = saved.get(resolve(cwd(), run));
  const configured = connections.get("ironic-conf") ?? options?.get("ironic-conf");
  const pace = (await orMessage(paceOf([configured ?? []].flat().map(String)))) ?? USUAL_PACE;
  const perMinute = options?.get("per-minute");
  return {
    perMinute: typeof perMinute === "number" ? perMinute : null,
    pace: typeof pace === "string" ? { ...USUAL_PACE, from: `${USUAL_PACE.from} (${pace})` } : pace,
  };
}
