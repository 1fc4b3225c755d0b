import { findPlan } from "../../edge/disk/archive.ts";
import { readJournal } from "../../edge/disk/journal.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import { MigrationError } from "../../model/error.ts";
import { stagedTrees } from "../../parts/boot-steps.ts";
import { nextCommand } from "../../stages/next.ts";
import { openPlan } from "../../stages/run.ts";
import { type Telling, told } from "./shared.ts";

/**
 * A machine named that no plan of this run has is a typing error: nothing is done then.
 *
 * @throws MigrationError N2I-E306
 */
export async function checkNames(
  run: RunFolder,
  plans: readonly string[],
  { node = [], all }: { readonly node?: readonly string[]; readonly all: boolean },
): Promise<{ readonly named: string; readonly machines: ReadonlySet<string> }> {
  const machines = new Set<string>();
  if (all) return { named: "everything", machines };
  const wanted = new Set(node.map((text) => text.toLowerCase()));
  const missing = new Set(node.map((text) => text.toLowerCase()));
  for (const sha256 of plans)
    for await (const batch of (await openPlan(await findPlan(run, sha256))).lines())
      for (const { uuid, bm_node_id } of batch) {
        const is = wanted.has(uuid?.toLowerCase() ?? "") || wanted.has(String(bm_node_id));
        if (is && uuid !== null) machines.add(uuid);
        missing.delete(uuid?.toLowerCase() ?? "");
        missing.delete(String(bm_node_id));
      }
  if (missing.size > 0)
    throw new MigrationError(
      "N2I-E306",
      `${[...missing].map((name) => JSON.stringify(name)).join(", ")} was never loaded by this run`,
    );
  return { named: `${node.length} machines`, machines };
}

/** Boot files are on each conductor's host, and taken back there: a rollback names the command. */
export async function tellTrees(
  run: RunFolder,
  args: Telling & { readonly keyFile?: string },
): Promise<void> {
  const { entries } = await readJournal(run);
  const { path } = run;
  const undo = (tftpRoot: string): string =>
    nextCommand("boot", { run: path, tftpRoot, keyFile: args.keyFile }, { undo: true });
  for (const [tree, machines] of stagedTrees(entries))
    if (machines > 0)
      told(
        args,
        `Boot files of ${machines} machines stay in ${tree}: ${undo(tree)} takes them back.`,
      );
}
