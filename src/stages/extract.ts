import { readHostConfigs, worldReadable } from "../edge/config/nova-conf.ts";
import { createSeal, readOrMakeKey } from "../edge/disk/seal.ts";
import { openTrees } from "../edge/tftp/tree.ts";
import { closing, openRole } from "./databases.ts";
import { rememberGiven, withEarlier } from "./given-file.ts";
import { checkNotRetired } from "./retired.ts";
import { inRun } from "./run.ts";
import type { Sink } from "./sink.ts";
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
): Promise<Extracted & { readonly path: string; readonly known: object }> {
  const { novaConf = [], tftpRoot = [], novaDb } = asked;
  return inRun(asked.run, "extract", { create: true }, async (run) => {
    await checkNotRetired(run, "a new snapshot would take the place of the last one there is");
    const seal = createSeal(await readOrMakeKey(run.path, asked.keyFile));
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
      await rememberGiven(run, "extract", asked);
      const now = new Date().toISOString();
      const made = await during(
        "extract",
        undefined,
        (progress) => takeSnapshot(run, { bm, nova, hosts, trees }, seal, now, progress),
        ({ counts }) => `${counts.machines} machines`,
      );
      return { ...made, path: run.path, known: await withEarlier(run, "plan", asked) };
    });
  });
}
