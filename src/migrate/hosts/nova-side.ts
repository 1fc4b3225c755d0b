import { batches } from "../../engine/batches.ts";
import { execute } from "../../engine/execute.ts";
import { ownershipOf, wasStarted } from "../../engine/ownership.ts";
import type { Excluded, Leg } from "../../engine/part.ts";
import type { Walked } from "../../engine/runner.ts";
import { MigrationError } from "../../lib/error.ts";
import { BATCH } from "../../lib/streams.ts";
import { counted, createSeveral, listed, NAMES } from "../../lib/text.ts";
import { type Entries, IRONIC } from "../../model/journal.ts";
import { NOVA_LEGS, type NovaLegName, type NovaStep, stepsOf } from "../../model/nova/nova-plan.ts";
import { closing, openRole } from "../../run/databases.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import type { RunSession } from "../../run/session.ts";
import type { Database } from "../../systems/database/open.ts";
import { inPortions } from "../../systems/database/rows.ts";
import { openTenants } from "../../systems/nova-db/by-node.ts";
import { openInstances } from "../../systems/nova-db/instances.ts";
import { type MachinePlan, novaJournalled, novaParts } from "../apply/parts.ts";
import { type ConnectionOptions, reopenFlavorApi } from "../flavors/flavor-api.ts";
import { FORWARD } from "../order.ts";
import type { NovaFiles } from "./nova-files.ts";
import {
  checkQueued,
  novaTargetOf,
  type Watching,
  watchComputes,
  withNovaLock,
} from "./nova-target.ts";
import { type Choice, choiceOf } from "./rules/choice.ts";
import { accepted, changedTenants, type Placed, placedOf } from "./rules/current-placement.ts";

/** Nova's part of an apply: flavors before the machines, hosts after them. */
export interface NovaSide {
  /** Checks that the plan's nova-computes are stopped. @throws MigrationError N2I-E310 */
  readonly inspect: () => Promise<void>;
  /** All checks that are possible before the first write. */
  readonly check: () => Promise<void>;
  readonly flavors: () => Promise<Walked<NovaStep>>;
  /** @param excluded machines that were skipped by the load, with the reason */
  readonly hosts: (excluded: Excluded) => Promise<Walked<NovaStep>>;
}

interface NovaOptions extends ConnectionOptions {
  readonly leaveNova: boolean;
  /** Asks for confirmation, and throws unless the answer is yes. */
  readonly confirm: (question: string) => Promise<void>;
  readonly watching: Watching;
  readonly lines: Lines;
}

/** A load while a nova-compute runs loses instances. @source facts/systems.md D-3 */
function needNovaDb(file: NovaFiles | null): void {
  const none = "the plan was made without nova, so a running nova-compute would not be detected";
  if (file === null)
    throw new MigrationError("N2I-E311", none, {
      fix: "Run extract, plan and apply with --nova-db. Alternatively, stop every nova-compute, and load only Ironic with --leave-nova.",
    });
  const { stopped } = file.counts;
  const steps = stepsOf(file.counts);
  if (steps + stopped.length === 0) return;
  const text =
    steps > 0
      ? `the plan changes ${counted(steps, "row")} of nova`
      : `the plan requires confirmation that nova-compute is stopped on ${listed(stopped, NAMES)}`;
  throw new MigrationError("N2I-E311", text);
}

/**
 * @param file the plan's steps on Nova
 * @throws MigrationError N2I-E311 without nova or `--leave-nova`, or N2I-E114 if nova is passed and
 * the run has no plan for it, or one for another nova
 */
export async function withNovaBackend<T>(
  run: RunFolder,
  session: RunSession,
  file: NovaFiles | null,
  options: NovaOptions,
  work: (side: NovaSide | null) => Promise<T>,
): Promise<T> {
  const { novaDb, leaveNova, confirm, watching } = options;
  if (novaDb === undefined) {
    if (!leaveNova) needNovaDb(file);
    return work(null);
  }
  if (file === null)
    throw new MigrationError("N2I-E114", `${run.path}/plan was made without Nova`, {
      fix: "Run plan again with --nova-db.",
    });
  const { header, counts } = file;
  if (options.novaApiDb !== undefined && header.api === undefined)
    throw new MigrationError("N2I-E114", "the plan for Nova has no flavors outside of nova", {
      fix: "Run plan again with the same options.",
    });
  return closing(async (keep) => {
    const database = keep(await openRole("nova-db", novaDb, { readOnly: false }));
    const api = await reopenFlavorApi(header.api, options, false, keep);
    const { api: apart = 0 } = counts;
    const inNova = stepsOf(counts) - apart;
    if (inNova > 0) await confirm(`Change ${counted(inNova, "row")} of ${database.label}?`);
    if (apart > 0) await confirm(`Change ${apart} extra specs of ${api?.label}?`);
    const target = await novaTargetOf(database, [file]);
    return withNovaLock(session, target, async (check) => {
      const { beats } = target;
      const watch = await watchComputes(beats, counts.stopped, watching, session.stopping);
      const parts = novaParts(target, api?.target ?? null);
      const checks = { check, precondition: watch.inspect };
      const legsOf = (names: readonly NovaLegName[]) =>
        names.map((name) => ({ ...novaJournalled(name, file), part: parts[name], ...checks }));
      const executeLegs = (names: readonly NovaLegName[], excluded?: Excluded) =>
        execute(legsOf(names), session, { direction: "forward", excluded });
      const choice = choiceOf(header.compute_hosts);
      return work({
        inspect: watch.inspect,
        async check() {
          const machines = await tenantsOf(options.lines, choice);
          await checkRequests(database, machines, watching);
          await inspectNova(legsOf(NOVA_LEGS), session.journal.entries());
          await watch.settle();
          // The plan's machines were already read, so only Nova is read here.
          await checkTenants(session.journal.entries(), database, machines, file.sha256);
        },
        async flavors() {
          const all = await executeLegs(FORWARD.beforeIronic);
          // A stop during the last flavor batch also stops the machines that follow.
          return { ...all, stopped: session.stopping() };
        },
        hosts: (excluded) => executeLegs(FORWARD.afterIronic, excluded),
      });
    });
  });
}

type Lines = MachinePlan["lines"];

/** The machines to load, for checks in Nova. */
export async function tenantsOf(plan: Lines, choice: Choice): Promise<readonly Placed[]> {
  const placed: Placed[] = [];
  let from = 0;
  for await (const batch of plan()) {
    for (const [at, line] of batch.entries())
      if (line.verdict === "create") placed.push(placedOf(line, from + at, choice));
    from += batch.length;
  }
  return placed;
}

/** Checks for queued requests to instances of machines to load. @throws MigrationError N2I-E314 */
async function checkRequests(
  database: Database,
  machines: Iterable<Placed>,
  watching: Watching,
): Promise<void> {
  const instancesOf = openInstances(database);
  for (const batch of inPortions(machines, BATCH)) {
    const loading = batch.filter((one) => !accepted(one, "N2I-D243"));
    const rows = await instancesOf(loading.flatMap(({ instance }) => instance ?? []));
    await checkQueued(database, rows.values(), watching);
  }
}

/**
 * Checks the instances of machines before the first load. In batches that were started earlier,
 * owners may have changed them since.
 * @throws MigrationError N2I-E300 naming machines whose instance was created, deleted or moved
 * since `extract`
 */
async function checkTenants(
  entries: Entries,
  database: Database,
  machines: Iterable<Placed>,
  sha256: string,
): Promise<void> {
  const ownership = ownershipOf(entries, IRONIC, sha256);
  const [instancesOf, onNodes] = [openInstances(database), await openTenants(database)];
  const stale = createSeveral();
  for (const batch of inPortions(machines, BATCH)) {
    const first = batch.filter(({ at }) => !wasStarted(ownership, { from: at, to: at + 1 }));
    for await (const what of changedTenants(first, { instancesOf, onNodes, nova: database }))
      stale.add(what);
  }
  if (stale.length === 0) return;
  const text = `Nova's instances changed since extract: ${listed(stale, NAMES, "; ")}`;
  throw new MigrationError("N2I-E300", text, {
    fix: "Stop every nova-compute, run extract and plan again, and check the differences.",
  });
}

/** Compares a plan's rows before the first write. @throws MigrationError N2I-E300 with the rows */
async function inspectNova(
  legs: readonly Pick<Leg<NovaStep>, "part" | "plan" | "lines">[],
  entries: Entries,
): Promise<void> {
  const stale = createSeveral();
  for (const { part, plan, lines } of legs) {
    const ownership = ownershipOf(entries, part.name, plan);
    for await (const { span, lines: steps } of batches(lines(), part.size)) {
      if (wasStarted(ownership, span)) continue;
      for (const { id, is, reason } of await part.inspect(steps))
        if (is === "other") stale.add(`${id} ${reason}`);
    }
  }
  const text = `${counted(stale.length, "row of nova is", "rows of nova are")} not as planned: ${stale.slice(0, NAMES).join("; ")}`;
  if (stale.length > 0) throw new MigrationError("N2I-E300", text);
}
