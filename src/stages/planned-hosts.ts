import { choiceOf } from "../core/hosts/choice.ts";
import type { PlannedHost } from "../core/settings/judge.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { isLoaded, nodeOf } from "../model/plan.ts";
import { novaPlanOf } from "./nova-files.ts";
import { planOrNull } from "./sizes.ts";

/**
 * Compute hosts that instances will name once the run's plan is applied: of machines it loads, those
 * in use where there are any. None without a plan.
 */
export async function plannedHosts(run: RunFolder): Promise<readonly PlannedHost[]> {
  const plan = await planOrNull(run.path);
  if (plan === null) return [];
  const nova = await novaPlanOf(run, plan.footer);
  const choice = choiceOf(nova?.header.compute_hosts ?? []);
  const [used, free, kept] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for await (const batch of plan.lines())
    for (const line of batch) {
      const { service_host } = line;
      if (service_host !== null) kept.add(service_host);
      const node = nodeOf(line.records);
      const host = choice.of(line) ?? service_host;
      if (!isLoaded(line) || host === null) continue;
      (typeof node?.instance_uuid === "string" ? used : free).add(host);
    }
  const names = [...(used.size > 0 ? used : free)].toSorted();
  return names.map((name) => ({ name, kept: kept.has(name) }));
}
