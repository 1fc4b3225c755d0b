import { renderFindingCounts, renderUnknown } from "../../core/render/summary.ts";
import { readHostConfigs, worldReadable } from "../../edge/config/nova-conf.ts";
import { createSeal, readOrMakeKey } from "../../edge/disk/seal.ts";
import { openTrees } from "../../edge/tftp/tree.ts";
import { openRole } from "../../stages/databases.ts";
import { extract } from "../../stages/extract.ts";
import { backendOf } from "../../stages/given.ts";
import { rememberGiven, withEarlier } from "../../stages/given-file.ts";
import { nextCommand } from "../../stages/next.ts";
import { inRun } from "../../stages/run.ts";
import type { ExtractArgs } from "../options/extract.ts";
import { inStage, print, say } from "./shared.ts";

export async function extractCommand(args: ExtractArgs): Promise<void> {
  await inRun(args.run, "extract", { create: true }, async (run) => {
    const seal = createSeal(await readOrMakeKey(run.path, args.keyFile));
    const hosts = await readHostConfigs(args.novaConf ?? [], seal);
    const trees = await openTrees(args.tftpRoot ?? [], "--tftp-root");
    for (const spec of args.novaConf ?? []) {
      const path = spec.slice(spec.indexOf("=") + 1);
      if (await worldReadable(path))
        say(args, `Warning: ${path} can be read by other users, and may hold passwords.`);
    }
    const bm = await openRole("nova-bm-db", args.novaBmDb, { readOnly: true });
    try {
      const nova =
        args.novaDb === undefined
          ? null
          : await openRole("nova-db", args.novaDb, { readOnly: true });
      try {
        await rememberGiven(run, "extract", args);
        const now = new Date().toISOString();
        const made = await inStage(
          "extract",
          undefined,
          args,
          (at) => extract(run, { bm, nova, hosts, trees }, seal, now, at),
          ({ counts }) => `${counts.machines} machines`,
        );
        const { machines, deleted, interfaces, orphans, instances } = made.counts;
        const known = await withEarlier(run, "plan", args);
        print(
          [
            `Snapshot: ${machines} machines (${deleted} soft-deleted), ${interfaces} interfaces (and ${orphans} without a node), ${instances} with an instance.`,
            ...renderUnknown(made.header.unknown_columns, made.unknown),
            ...renderFindingCounts(Object.fromEntries(made.findings)),
          ].join("\n"),
        );
        say(
          args,
          `Saved ${run.path}/snapshot.jsonl (sha256 ${made.sha256.slice(0, 12)}).\nNext: ${nextCommand("power", args)}\nthen: ${nextCommand("plan", known, backendOf(known))}`,
        );
      } finally {
        await nova?.close();
      }
    } finally {
      await bm.close();
    }
  });
}
