import { keyOf, ownershipOf } from "../../engine/ownership.ts";
import { MigrationError } from "../../lib/error.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { Footer, PlanCounts } from "../../model/artefact.ts";
import type { Finding } from "../../model/findings.ts";
import { batchesOf, type Entries, IRONIC, plansOf } from "../../model/journal.ts";
import {
  NOVA_NAMES,
  type NovaLegName,
  type NovaStep,
  novaName,
  stepsOf,
} from "../../model/nova/nova-plan.ts";
import { readJournal } from "../../run/files/journal.ts";
import {
  findPlan,
  type OpenedPlan,
  openFileOf,
  openManifest,
  PLAN,
  type PlanWriter,
} from "../../run/files/plan-folder.ts";
import type { NovaState, TakenBack } from "../../run/files/run-files.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";

/** A plan's steps on Nova's rows, with their counts and the plan's digest. */
export type NovaFiles = NonNullable<Awaited<ReturnType<typeof openNovaFiles>>>;

const NOVA_FINDINGS = "nova-findings";

/** One file per leg. Shared rows come after the machines' own, the order a reader expects. */
const LEGS = ["hosts", "shared", "flavors", "api"] as const satisfies readonly NovaLegName[];

/** A plan's steps on Nova. Null if it has none. @throws MigrationError N2I-E110 to N2I-E114 */
export async function openNovaFiles(plan: OpenedPlan) {
  const { nova, files } = plan.manifest;
  if (nova === null) return null;
  const open = <T>(name: string) => openFileOf<JsonObject, T>(plan, name);
  const opened = new Map<NovaLegName, () => AsyncIterable<readonly NovaStep[]>>();
  for (const leg of LEGS) {
    // A file without steps is not read.
    const { lines = 0 } = files[novaName(leg)] ?? {};
    if (lines > 0) opened.set(leg, (await open<NovaStep>(novaName(leg))).lines);
  }
  const steps = (leg: NovaLegName) => opened.get(leg)?.() ?? NONE();
  return {
    ...{ ...nova, sha256: plan.sha256, steps },
    async *all(): AsyncGenerator<readonly NovaStep[]> {
      for (const leg of LEGS) yield* steps(leg);
    },
    async *findings(): AsyncGenerator<readonly Finding[]> {
      if (nova.counts.findings > 0) yield* (await open<Finding>(NOVA_FINDINGS)).lines();
    },
  };
}

async function* NONE(): AsyncGenerator<readonly NovaStep[]> {}

/** The plan's files for Nova. Null if it has none. @throws MigrationError N2I-E110 to N2I-E114 */
export async function novaPlanOf(
  run: RunFolder,
  { sha256 }: Pick<Footer<PlanCounts>, "sha256">,
): Promise<NovaFiles | null> {
  const plan = await openManifest(`${run.path}/${PLAN}`);
  if (plan.sha256 !== sha256)
    throw new MigrationError("N2I-E114", `${run.path}/${PLAN} was replaced by another command`, {
      fix: "Run the same command again.",
    });
  return openNovaFiles(plan);
}

/** The Nova files of the run's plans that changed Nova's rows, newest first. */
export async function novaPlans(run: RunFolder): Promise<readonly NovaFiles[]> {
  const { entries } = await readJournal(run);
  const plans: NovaFiles[] = [];
  for (const sha256 of plansOf(entries, ...NOVA_NAMES)) {
    const files = await openNovaFiles(await openManifest(await findPlan(run, sha256)));
    if (files !== null) plans.push(files);
  }
  return plans;
}

export async function createNovaFiles(plan: PlanWriter) {
  const format = "nova2ironic/nova@2";
  const writers = new Map<NovaLegName, Awaited<ReturnType<PlanWriter["begin"]>>>();
  for (const leg of LEGS) writers.set(leg, await plan.begin(novaName(leg), { format }));
  const found = await plan.begin(NOVA_FINDINGS, { format: "nova2ironic/nova-findings@1" });
  const counts = { hosts: 0, flavors: 0, api: 0, findings: 0 };
  return {
    async write(steps: readonly NovaStep[]): Promise<void> {
      for (const step of steps) {
        const { part, machine } = step;
        counts[part] += 1;
        const leg = part === "hosts" && machine === null ? "shared" : part;
        await writers.get(leg)?.write(step);
      }
    },
    async find(findings: readonly Finding[]): Promise<void> {
      counts.findings += findings.length;
      for (const finding of findings) await found.write(finding);
    },
    counts: () => counts,
  };
}

type NovaPlan = NonNullable<NovaState["plan"]>;

/**
 * Whether apply completed every row of Nova. A batch that was rolled back counts if its machines
 * also left Ironic.
 * @param away machines that left Ironic
 */
export function isThrough(
  { sha256, counts }: NovaPlan,
  entries: Entries,
  away: TakenBack | null,
): boolean {
  const legs = NOVA_NAMES.map((name) => ownershipOf(entries, name, sha256));
  const reached = legs.map(({ started, undone }) => {
    const done = started.filter((span) => {
      const machines = undone.get(keyOf(span));
      if (machines === undefined || away === "all") return true;
      return machines !== "all" && [...machines].every((machine) => away?.has(machine) === true);
    });
    return Math.max(0, ...done.map(({ to }) => to));
  });
  const rows = reached.reduce((sum, to) => sum + to, 0);
  return legs.every(({ open }) => open.length === 0) && rows >= stepsOf(counts);
}

/** Whether a load without `--leave-nova` stopped before the last of Nova's rows. */
export function skipsNova(plan: NovaPlan, entries: Entries, away: TakenBack | null): boolean {
  if (isThrough(plan, entries, away)) return false;
  const lastBatch = batchesOf(entries, IRONIC).findLast(
    (entry) => entry.do === "begin" && entry.plan === plan.sha256,
  );
  if (lastBatch?.do === "begin") return lastBatch.nova === "follows";
  return NOVA_NAMES.some((name) => plansOf(entries, name).includes(plan.sha256));
}
