import { GRACE } from "../../model/archive.ts";
import { MigrationError } from "../../model/error.ts";
import { AFTER } from "../../stages/pipeline.ts";
import { archiveNovaBm, previewArchive, restoreNovaBm } from "../../stages/retire.ts";
import { dropNovaBm, previewDrop } from "../../stages/retire-drop.ts";
import type { RetireArgs } from "../options/retire.ts";
import { confirmName, say, sinkOf } from "./shared.ts";

export async function retireCommand(args: RetireArgs): Promise<void> {
  checkOptions(args);
  const { novaBmDb, restore, plan, drop, yesDrop, grace = GRACE } = args;
  const sink = sinkOf(args);
  if (restore !== undefined) return restoreNovaBm({ ...args, restore }, sink);
  if (novaBmDb === undefined)
    throw new MigrationError("N2I-E100", "retire needs --nova-bm-db, or --restore");
  const words = { ...args, novaBmDb, grace };
  if (drop)
    return plan
      ? previewDrop(words, sink)
      : dropNovaBm(words, sink, (question, name) => confirmName(question, name, yesDrop));
  if (plan) return previewArchive(words, sink);
  const { path, sha256, rows, tables } = await archiveNovaBm(words, sink);
  sink.result(
    `Archived ${rows} rows of ${tables} tables in ${path} (sha256 ${sha256.slice(0, 12)}), and restored them once: nothing is missing.`,
  );
  say(args, AFTER.retire(words));
}

/** @throws MigrationError N2I-E100 */
function checkOptions({ restore, plan, drop, yesDrop, grace }: RetireArgs): void {
  const usage = (text: string) => new MigrationError("N2I-E100", text);
  if (grace !== undefined && (drop || restore !== undefined))
    throw usage(
      `--grace is said with the archive, and stays in the run: it is no option of ${drop ? "--drop" : "--restore"}`,
    );
  if (grace !== undefined && !(Number.isInteger(grace) && grace >= 0))
    throw usage("--grace takes a whole number of days");
  if (restore !== undefined && (plan || drop))
    throw usage(`--restore and ${plan ? "--plan" : "--drop"} exclude each other`);
  if (yesDrop !== undefined && !drop) throw usage("--yes-drop needs --drop");
}
