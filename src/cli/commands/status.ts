import { existsSync } from "node:fs";
import { readJournal } from "../../edge/disk/journal.ts";
import { openRun, type RunFolder } from "../../edge/disk/run-folder.ts";
import { countBack } from "../../engine/back.ts";
import { MigrationError } from "../../model/error.ts";
import { type Entry, plansOf } from "../../model/journal.ts";
import type { NovaStep } from "../../model/nova-plan.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { stagedTrees } from "../../parts/boot-steps.ts";
import { plannedNodes, stillReleased } from "../../parts/hand-over.ts";
import { NOVA_LEGS, NOVA_NAMES, novaJournalled } from "../../parts/nova.ts";
import { loadMappings } from "../../stages/documents.ts";
import { endOfRun, knowsGuards } from "../../stages/finished.ts";
import { readGiven } from "../../stages/given-file.ts";
import { novaPlanOf, novaPlans } from "../../stages/nova-files.ts";
import { openPower, POWER } from "../../stages/power-file.ts";
import { openPlan, openSnapshot, PLAN, SNAPSHOT } from "../../stages/run.ts";
import { type RunState, type Still, statusOf, wasStaged } from "../../stages/status.ts";
import { type TakenBack, takenBack } from "../../stages/still-changed.ts";
import type { StatusArgs } from "../options/status.ts";
import { printObject } from "../print/view.ts";
import { say } from "./shared.ts";

/** An artefact that is missing or broken is a fact about the run, not a failure of status. */
async function orWhy<T>(work: () => Promise<T>): Promise<T | { readonly missing: string }> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    return { missing: `${error.code} ${error.message}` };
  }
}

/** Reads the whole plan, when a load was staged. */
async function handoverOf(
  plan: Awaited<ReturnType<typeof openPlan>>,
  journal: readonly Entry[],
): Promise<{ readonly staged: number; readonly released: number } | null> {
  if (!wasStaged(journal, plan.footer.sha256)) return null;
  const known = stillReleased(journal);
  let [staged, released] = [0, 0];
  for await (const batch of plannedNodes(plan.lines(), () => true))
    for (const { uuid, row } of batch) {
      if (row.maintenance === true) continue;
      staged += 1;
      if (known.has(uuid)) released += 1;
    }
  return { staged, released };
}

/** What a rollback of these machines with Nova's database would still find changed, by the journal. */
async function stillOf(
  run: RunFolder,
  entries: readonly Entry[],
  machines: TakenBack,
): Promise<Still> {
  const all = machines === "all";
  const wants = ({ machine }: NovaStep) => all || machines.has(machine ?? "");
  const files = await novaPlans(run);
  let rows = 0;
  for (const file of files)
    for (const leg of NOVA_LEGS)
      rows += await countBack(novaJournalled(leg, file), entries, { wants });
  const api = files.map(({ header }) => header.api).find((one) => one !== undefined);
  return { rows, machines, api };
}

export async function statusCommand(args: StatusArgs): Promise<void> {
  const run = await openRun(args.run, { create: false });
  const snapshot = await orWhy(() => openSnapshot(`${run.path}/${SNAPSHOT}`));
  const plan = await orWhy(() => openPlan(`${run.path}/${PLAN}`));
  const journal = await orWhy(() => readJournal(run));
  const nova = await orWhy(async () => {
    const beside = "missing" in plan ? null : await novaPlanOf(run, plan.footer);
    const entries = "missing" in journal ? [] : journal.entries;
    const plans = plansOf(entries, ...NOVA_NAMES);
    if (beside === null && plans.length === 0) return null;
    const back = "missing" in journal ? null : takenBack(journal.entries);
    const still = back === null ? null : await orWhy(() => stillOf(run, entries, back));
    return { plan: beside, entries, ...(still !== null && { still }) };
  });
  const boot = await orWhy(async () => {
    const trees = stagedTrees("missing" in journal ? [] : journal.entries);
    return trees.size === 0 ? null : new Map([...trees].filter(([, machines]) => machines > 0));
  });
  const power = await openPower(`${run.path}/${POWER}`).catch(() => null);
  const finish = await orWhy(async () => {
    const end = await endOfRun(run);
    const name = "missing" in plan ? undefined : plan.header.target.release;
    const release = (await loadMappings()).releases.find(({ doc }) => doc.release === name);
    return { end, guards: release !== undefined && knowsGuards(release) };
  });
  const state: RunState = statusOf({
    finish,
    said: {
      site: power?.header.asked_for?.site ?? null,
      allowPairing: !("missing" in plan) && plan.header.pairing.allowed === "override",
      asked: power !== null,
      rest: !("missing" in plan) && plan.header.target.engine === "rest",
      release: releaseOf("missing" in plan ? null : plan, power),
      given: args,
      earlier: await readGiven(run),
      sealedElsewhere: sealedElsewhere(run, snapshot),
    },
    ...(nova !== null && { nova }),
    ...(boot !== null && { boot }),
    snapshot:
      "missing" in snapshot
        ? snapshot
        : {
            counts: snapshot.footer.footer,
            sha256: snapshot.footer.sha256,
            taken_at: snapshot.header.taken_at,
          },
    plan:
      "missing" in plan
        ? plan
        : {
            counts: plan.footer.footer,
            sha256: plan.footer.sha256,
            madeFrom: plan.header.made_from.snapshot,
            release: plan.header.target.release,
          },
    journal,
    handover:
      "missing" in plan || "missing" in journal
        ? null
        : await orWhy(() => handoverOf(plan, journal.entries)),
  });
  const allocations = "missing" in plan ? null : await allocationsOf(args, () => plan.lines());
  const fields = { ...state.fields, ...(allocations !== null && { allocations }) };
  await printObject(fields, args);
  say(args, `Next: ${state.next}`);
}

/** Whoever asks no database waits for no driver. */
async function allocationsOf(
  args: StatusArgs,
  lines: () => AsyncIterable<readonly PlannedMachine[]>,
): Promise<string | null> {
  if (args.placementDb === undefined) return null;
  const { allocationsText } = await import("../../stages/allocations.ts");
  return allocationsText(args, lines);
}

/** The release a plan was made for, or BMCs were asked for by a word; juno is what nobody has to say. */
function releaseOf(
  plan: Awaited<ReturnType<typeof openPlan>> | null,
  power: Awaited<ReturnType<typeof openPower>> | null,
): string | undefined {
  const release = plan?.header.target.release ?? power?.header.asked_for?.release;
  return release === "juno" ? undefined : release;
}

/** Whether the run's secrets were sealed with a key of --key-file. */
function sealedElsewhere({ path }: RunFolder, snapshot: object): boolean {
  return !("missing" in snapshot) && !existsSync(`${path}/secret.key`);
}
