import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { countBack } from "../../engine/back.ts";
import { MigrationError, orNull } from "../../lib/error.ts";
import { novaJournalled } from "../../migrate/apply/parts.ts";
import { stagedTrees } from "../../migrate/boot/boot-steps.ts";
import type { AuditDatabases } from "../../migrate/hosts/allocations.ts";
import { novaPlanOf, novaPlans } from "../../migrate/hosts/nova-files.ts";
import { requiresPower } from "../../migrate/plan/empty-plan.ts";
import { openPower, POWER } from "../../migrate/power/power-file.ts";
import { loadedRowsOf } from "../../migrate/rollback/rollback-scope.ts";
import { readVerified, wasCompared } from "../../migrate/verify/verified-file.ts";
import { type Entries, IRONIC, plansOf } from "../../model/journal.ts";
import { NOVA_LEGS, NOVA_NAMES, type NovaStep } from "../../model/nova/nova-plan.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { readJournal } from "../../run/files/journal.ts";
import {
  available,
  awayOf,
  type HandedCounts,
  type NovaState,
  type RunFiles,
  type TakenBack,
  takenBack,
  wasStaged,
} from "../../run/files/run-files.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { endOfRun, knowsGuards } from "../../run/finished.ts";
import { processContext } from "../../run/process-context.ts";
import { openPlan, openSnapshot, PLAN, SNAPSHOT } from "../../run/run.ts";
import { nodesOf, releasedNodes } from "../handover/hand-over.ts";
import { readRehearsal } from "../rehearse/rehearsal-file.ts";
import { statusOf } from "./status.ts";

/** A missing or broken artifact is shown as a fact, so that status does not fail. */
async function orMissingReason<T>(
  work: () => Promise<T>,
): Promise<T | { readonly missing: string }> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    return { missing: `${error.code} ${error.message}` };
  }
}

/** Reads the whole plan if the load was staged. */
export async function handoverOf(
  plan: Pick<Awaited<ReturnType<typeof openPlan>>, "footer" | "lines">,
  journal: Entries,
): Promise<HandedCounts | null> {
  const tally = createHandover(plan.footer.sha256, journal);
  if (tally === null) return null;
  for await (const batch of plan.lines()) for (const line of batch) tally.add(line);
  return tally.end();
}

/** Counts the hand-over of a staged load by machine. Null for another load. */
export function createHandover(sha256: string, journal: Entries) {
  if (!wasStaged(journal, sha256)) return null;
  const releasedUuids = releasedNodes(journal);
  let [staged, released, takeOvers] = [0, 0, 0];
  // Nodes that existed before the first plan were not staged by that plan.
  const first = plansOf(journal, IRONIC).every((one) => one === sha256);
  return {
    add(line: PlannedMachine): void {
      if (first && line.verdict !== "create") return;
      for (const { id, row } of nodesOf(line)) {
        if (row.maintenance === true) continue;
        staged += 1;
        if (releasedUuids.has(id)) released += 1;
        else if (row.provision_state === "active") takeOvers += 1;
      }
    },
    end: (): HandedCounts => ({ staged, released, takeOvers }),
  };
}

/** The plan's steps on Nova, and their progress. Null if there were none. */
async function novaStateOf(
  run: RunFolder,
  plan: Parameters<typeof novaPlanOf>[1] | null,
  entries: Entries,
  back: TakenBack | null,
): Promise<NovaState | null> {
  const novaFiles = plan === null ? null : await novaPlanOf(run, plan);
  if (novaFiles === null && plansOf(entries, ...NOVA_NAMES).length === 0) return null;
  if (back === null) return { plan: novaFiles, entries };
  const selects = ({ machine }: NovaStep) => back === "all" || back.has(machine ?? "");
  // Changed rows that a rollback of these machines would find in Nova, according to the journal.
  const remaining = await orMissingReason(async () => {
    let rows = 0;
    for (const file of await novaPlans(run))
      for (const leg of NOVA_LEGS)
        rows += await countBack(novaJournalled(leg, file), entries, { selects });
    return { rows, machines: back };
  });
  return { plan: novaFiles, entries, remaining };
}

/** The contents of a run's folder. @param handover of a staged load. Default: from the plan */
export async function filesOf(
  run: RunFolder,
  options: { readonly run: string },
  handover?: HandedCounts | null,
) {
  const snapshot = await orMissingReason(async () => {
    const { header, footer } = await openSnapshot(`${run.path}/${SNAPSHOT}`);
    return { counts: footer.footer, sha256: footer.sha256, taken_at: header.taken_at };
  });
  const plan = await orMissingReason(() => openPlan(`${run.path}/${PLAN}`));
  const planned = available(plan);
  const journal = await orMissingReason(() => readJournal(run));
  const { entries = [] } = available(journal) ?? {};
  const rows =
    takenBack(entries) === null ? null : await orMissingReason(() => loadedRowsOf(run, entries));
  const back = awayOf({ journal, ...(rows !== null && { rows }) });
  const nova = await orMissingReason(() =>
    novaStateOf(run, planned?.footer ?? null, entries, back),
  );
  const boot = await orMissingReason(async () => {
    const trees = stagedTrees(entries);
    return trees.size === 0 ? null : new Map([...trees].filter(([, machines]) => machines > 0));
  });
  const power = await openPower(`${run.path}/${POWER}`).catch(() => null);
  // Conductors will use other settings than these readings.
  const isRejected =
    planned !== null &&
    requiresPower(planned.footer.footer) &&
    planned.header.made_from.power?.sha256 === power?.footer.sha256;
  const finish = await orMissingReason(async () => {
    const end = await endOfRun(run);
    return { end, guards: knowsGuards(planned?.header.target.release ?? "") };
  });
  const isReadable = planned !== null && !("missing" in journal);
  const now = isReadable ? ([run, planned.footer.sha256, entries.length] as const) : null;
  const verified = now === null ? undefined : await readVerified(...now);
  const rehearsal = await readRehearsal(run);
  const files: RunFiles = {
    ...(rehearsal !== null && { rehearsal }),
    ...(verified !== undefined && { verified }),
    compared: now !== null && (await wasCompared(...now)),
    finish,
    run: options.run,
    rest: planned?.header.target.engine === "rest",
    hasReadings: power !== null && !isRejected,
    outdated: planned !== null && (await isOutdated(run, planned.header, power)),
    ...{ ...(nova !== null && { nova }), ...(boot !== null && { boot }) },
    ...(rows !== null && { rows }),
    snapshot,
    plan:
      "missing" in plan
        ? plan
        : {
            counts: plan.footer.footer,
            sha256: plan.footer.sha256,
            madeFrom: plan.header.made_from.snapshot,
            site: plan.header.made_from.site,
            release: plan.header.target.release,
          },
    journal,
    handover:
      isReadable && handover === undefined
        ? await orMissingReason(() => handoverOf(planned, entries))
        : (isReadable && handover) || null,
  };
  return { files, plan };
}

/** The facts of a run, and the next command. @param handover as in `filesOf` */
export async function runState(
  run: RunFolder,
  options: { readonly run: string } & AuditDatabases,
  handover?: HandedCounts | null,
) {
  const { files, plan } = await filesOf(run, options, handover);
  const state = statusOf(files);
  if ("missing" in plan || options.placementDb === undefined) return state;
  // Imported lazily, because most calls need no database driver.
  const { allocationsText } = await import("../../migrate/hosts/allocations.ts");
  const allocations = await allocationsText(options, plan.lines);
  return { ...state, fields: { ...state.fields, ...(allocations !== null && { allocations }) } };
}

/** Whether the site document or the power readings changed since the plan. */
async function isOutdated(
  run: RunFolder,
  { made_from }: Awaited<ReturnType<typeof openPlan>>["header"],
  power: Awaited<ReturnType<typeof openPower>> | null,
): Promise<boolean> {
  if (power !== null && power.footer.sha256 !== made_from.power?.sha256) return true;
  const site = processContext().saved.get(run.path)?.get("site");
  const text = typeof site === "string" ? await orNull(readFile(site, "utf8")) : null;
  return text !== null && createHash("sha256").update(text).digest("hex") !== made_from.site;
}
