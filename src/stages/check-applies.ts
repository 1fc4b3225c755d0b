import type { RunFolder } from "../edge/disk/run-folder.ts";
import type { PlanApplies } from "../model/check-plan.ts";
import { MigrationError } from "../model/error.ts";
import { loadable } from "./nothing.ts";
import { POWER, readingsOf } from "./power-file.ts";
import { type openPlan, openSnapshot, SNAPSHOT } from "./run.ts";

type Plan = Awaited<ReturnType<typeof openPlan>>;

/** What a run's folder says for and against loading its plan. */
export async function appliesOf(run: RunFolder, plan: Plan): Promise<PlanApplies> {
  const { made_from } = plan.header;
  const left = { blocked: [] as string[], conflict: [] as string[] };
  for await (const batch of plan.lines())
    for (const { verdict, bm_node_id, reason } of batch)
      if (verdict === "blocked" || verdict === "conflict")
        left[verdict].push(`bm_nodes.id=${bm_node_id} (${reason ?? "without a reason"})`);
  const snapshot = await orNothing(async () => {
    const { footer } = await openSnapshot(`${run.path}/${SNAPSHOT}`);
    return footer.sha256;
  });
  const { verdicts } = plan.footer.footer;
  return {
    loads: loadable(plan.footer.footer),
    there: verdicts.unchanged + verdicts.drift,
    blocked: left.blocked,
    conflicts: left.conflict,
    fresh: snapshot === made_from.snapshot,
    readings: await readingsFor(run, plan),
  };
}

async function readingsFor(run: RunFolder, { header }: Plan): Promise<PlanApplies["readings"]> {
  const { power } = header.made_from;
  if (power === null) return null;
  const found = await orNothing(() => readingsOf(`${run.path}/${POWER}`));
  const { oldest } = power;
  return {
    same: found?.sha256 === power.sha256,
    minutes: oldest === null ? 0 : (Date.now() - Date.parse(oldest)) / 60_000,
  };
}

/** What is missing or broken is none. */
async function orNothing<T>(work: () => Promise<T>): Promise<T | null> {
  return work().catch((error: unknown) => {
    if (error instanceof MigrationError) return null;
    throw error;
  });
}
