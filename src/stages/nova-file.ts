import { asWritten, openArtefact } from "../edge/disk/artefact-reader.ts";
import { readJournal } from "../edge/disk/journal.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import type { Footer, PlanCounts } from "../model/artefact.ts";
import { MigrationError } from "../model/error.ts";
import { plansOf } from "../model/journal.ts";
import type { NovaLine, NovaPlanCounts, NovaPlanHeader } from "../model/nova-plan.ts";
import { NOVA_NAMES, type NovaPlan } from "../parts/nova.ts";

export const NOVA = "nova.jsonl";

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

/** The run's plans that changed Nova's rows, by the journal, newest first. */
export async function novaPlans(run: Pick<RunFolder, "path">): Promise<readonly string[]> {
  return plansOf((await readJournal(run)).entries, ...NOVA_NAMES);
}
