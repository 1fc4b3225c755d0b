import { orNull } from "../../lib/error.ts";
import { closing, openRole } from "../../run/databases.ts";
import { readJournal } from "../../run/files/journal.ts";
import { findPlan, openManifest } from "../../run/files/plan-folder.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { createSeal, readOrMakeKey } from "../../run/files/seal.ts";
import { inRun, sealOf } from "../../run/run.ts";
import { saveOptions } from "../../run/saved-options.ts";
import type { Sink } from "../../run/sink.ts";
import { readHostConfigs, worldReadable } from "../../systems/database/nova-conf.ts";
import { openTrees } from "../../systems/tftp/tree.ts";
import { plansThere } from "../plan/loaded-plans.ts";
import { type Extracted, takeSnapshot } from "./snapshot.ts";

/** What is read of a deployment, by the names of the options. */
export interface ExtractAsked {
  readonly run: string;
  readonly novaBmDb: string;
  readonly novaDb?: string;
  readonly novaConf?: readonly string[];
  readonly tftpRoot?: readonly string[];
  readonly keyFile?: string;
}

/** Reads nova_bm, nova and what compute hosts have into the snapshot of a run, which it makes. */
export function extract(
  asked: ExtractAsked,
  { say, during }: Pick<Sink, "say" | "during">,
): Promise<Extracted & { readonly path: string }> {
  const { novaConf = [], tftpRoot = [], novaDb } = asked;
  return inRun(asked.run, "extract", { kind: "migration", create: true }, async (run) => {
    const seal = await sealFor(run, asked.keyFile);
    const hosts = await readHostConfigs(novaConf, seal);
    const trees = await openTrees(tftpRoot, "--tftp-root");
    for (const spec of novaConf) {
      const path = spec.slice(spec.indexOf("=") + 1);
      if (await worldReadable(path))
        say(`Warning: ${path} can be read by other users, and may hold passwords.`);
    }
    return closing(async (keep) => {
      const readOnly = { readOnly: true };
      const bm = keep(await openRole("nova-bm-db", asked.novaBmDb, readOnly));
      const nova = novaDb === undefined ? null : keep(await openRole("nova-db", novaDb, readOnly));
      await saveOptions(run, "extract", asked);
      const now = new Date().toISOString();
      const made = await during(
        "extract",
        undefined,
        (progress) => takeSnapshot(run, { bm, nova, hosts, trees }, seal, now, progress),
        ({ counts }) => `${counts.machines} machines`,
      );
      return { ...made, path: run.path };
    });
  });
}

/**
 * The key that seals what is read; made where there is none. What was loaded is taken back by the key of its
 * plan: while it is in Ironic, the run keeps that one, and makes none.
 *
 * @throws MigrationError N2I-E115
 */
async function sealFor(run: RunFolder, keyFile: string | undefined) {
  const [loaded] = plansThere((await readJournal(run)).entries);
  const plan = loaded === undefined ? null : await orNull(findPlan(run, loaded));
  if (plan === null) return createSeal(await readOrMakeKey(run.path, keyFile));
  return sealOf(run, keyFile, (await openManifest(plan)).manifest.key);
}
