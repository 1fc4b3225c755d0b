import { plansOf } from "../../core/apply/ledger.ts";
import { lookAtNova, type NovaActing, type NovaPlan } from "../../core/apply/nova.ts";
import type { Database } from "../../edge/database/open.ts";
import { asWritten, openArtefact } from "../../edge/disk/artefact-reader.ts";
import { openEntries, readEntries } from "../../edge/disk/journal.ts";
import { parseNovaEntry } from "../../edge/disk/journal-entry.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import { identifyNova } from "../../edge/nova-write/open.ts";
import { createNovaTarget } from "../../edge/nova-write/target.ts";
import type { Footer, PlanCounts } from "../../model/artefact.ts";
import { MigrationError } from "../../model/error.ts";
import type {
  NovaEntry,
  NovaIdentity,
  NovaLine,
  NovaPlanCounts,
  NovaPlanHeader,
  NovaStep,
  NovaTarget,
} from "../../model/nova-plan.ts";
import { otherServer } from "../../model/same-server.ts";
import { failpoint, withFailpoints } from "./failpoint.ts";
import type { FlavorApi } from "./flavor-api.ts";
import { onInterrupt } from "./interrupt.ts";
import { NOVA } from "./nova-plan.ts";
import { type ComputeWatch, type Watching, watchComputes } from "./nova-watch.ts";
import { whoami } from "./run.ts";

export const NOVA_JOURNAL = "nova-journal.jsonl";

/** A plan for Nova as it lies in the run's folder. */
export interface NovaFile extends NovaPlan {
  readonly header: NovaPlanHeader;
}

export async function openNovaPlan(path: string): Promise<NovaFile> {
  const file = await openArtefact(path, "nova", {
    header: asWritten<NovaPlanHeader>,
    line: asWritten<NovaLine>,
    counts: asWritten<NovaPlanCounts>,
  });
  const { footer, sha256 } = file.footer;
  return { header: file.header, lines: () => file.lines(), sha256, counts: footer };
}

/**
 * The run's plan for Nova if it belongs to this plan; null when the plan was made without one.
 *
 * @throws MigrationError N2I-E114 when it was made with another: planning was cut short
 */
export async function novaPlanOf(
  run: RunFolder,
  { sha256, footer }: Footer<PlanCounts>,
): Promise<NovaFile | null> {
  const file = await openNovaPlan(`${run.path}/${NOVA}`).catch((error: unknown) => {
    if (error instanceof MigrationError && error.code === "N2I-E110") return null;
    throw error;
  });
  const found = file?.counts.plan === sha256 ? file : null;
  if (footer.nova !== undefined && footer.nova !== found?.sha256)
    throw new MigrationError(
      "N2I-E114",
      `${run.path}/${NOVA} is not the plan for Nova that was made with the plan`,
      { fix: "Run plan again, with --nova-db and its options: it was cut short the last time." },
    );
  return found;
}

/** What was done in Nova, and by which plans, newest first. */
export async function readNovaJournal(run: RunFolder): Promise<{
  readonly entries: readonly NovaEntry[];
  readonly plans: readonly string[];
}> {
  const { entries } = await readEntries(`${run.path}/${NOVA_JOURNAL}`, parseNovaEntry);
  return { entries, plans: plansOf(entries.filter((entry) => entry.do !== "open")) };
}

/** Identity fields, besides the server's, that must not have changed between plan and apply. */
const SAME = ["schema_version", "head"] as const;

/** @throws MigrationError N2I-E300 telling what changed */
export function checkNova(planned: NovaIdentity, found: NovaIdentity): void {
  const changed = [
    ...otherServer(planned, found),
    ...SAME.filter((field) => planned[field] !== found[field]),
  ].map((field) => `${field} was ${planned[field] ?? "none"}, is ${found[field] ?? "none"}`);
  if (changed.length > 0)
    throw new MigrationError(
      "N2I-E300",
      `the plan was made for another nova: ${changed.join("; ")}`,
    );
}

/**
 * Everything that changing Nova's rows needs: its lock, its journal, and the checks before.
 *
 * @throws MigrationError N2I-E310 when a nova-compute of the plan's hosts reported within a minute
 */
export async function withNova<T>(
  run: RunFolder,
  database: Database,
  plan: NovaFile,
  api: FlavorApi | null,
  watching: Watching,
  work: (acting: NovaActing, watch: ComputeWatch) => Promise<T>,
): Promise<T> {
  const identity = await identifyNova(database);
  checkNova(plan.header.target, identity);
  const target = withApi(createNovaTarget(database, identity, failpoint), api);
  const lock = await target.lock();
  const interrupt = onInterrupt();
  try {
    const journal = withFailpoints(await openEntries(run, NOVA_JOURNAL, parseNovaEntry), "nova.");
    try {
      if (journal.entries().length === 0)
        await journal.append({
          ...{ do: "open", format: "nova2ironic/nova-journal@1" },
          ...{ tool: plan.header.tool, target: identity },
        });
      const { stopping } = interrupt;
      const watch = await watchComputes(target.beats, plan.counts.stopped, watching, stopping);
      const acting = {
        ...{ target, lock, journal, by: whoami(), stopping },
        now: () => new Date().toISOString(),
        guard: watch.look,
      };
      return await work(acting, watch);
    } finally {
      await journal.close();
    }
  } finally {
    interrupt.end();
    await lock.release();
  }
}

/**
 * Nova with its flavors elsewhere: steps of a part come together, and go where the part is. Whoever
 * changes flavors holds the lock of the nova database they are read with.
 */
export function withApi(nova: NovaTarget, api: FlavorApi | null): NovaTarget {
  if (api === null) return nova;
  const of = (steps: readonly NovaStep[]): FlavorApi["target"] =>
    steps[0]?.part === "api" ? api.target : nova;
  return {
    ...nova,
    look: (steps) => of(steps).look(steps),
    perform: (steps, ...how) => of(steps).perform(steps, ...how),
  };
}

/** Everything that can be known before the first row of anything is written. */
export async function checkBeforeNova(
  plan: NovaFile,
  acting: NovaActing,
  watch: ComputeWatch,
): Promise<void> {
  await lookAtNova(plan, acting);
  await watch.settle();
}
