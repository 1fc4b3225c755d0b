import { ownershipOf } from "../engine/ownership.ts";
import { startedChangesIn } from "../engine/started.ts";
import { counted } from "../lib/text.ts";
import { batchesOf, type Entries, plansOf } from "../model/journal.ts";
import { HOST_PARTS, HOST_ROWS } from "../model/nova/host-move.ts";
import { readJournal } from "../run/files/journal.ts";
import type { RunFolder } from "../run/files/run-folder.ts";
import { kindOf } from "../run/files/run-kind.ts";
import { type MovePlan, movePlans, presentMoves } from "../run/host-files.ts";
import { nextCommand } from "../run/next.ts";
import { hasLifted, takenByHand } from "./baremetal/legacy-fence.ts";
import { LEGACY } from "./baremetal/steps/legacy-started.ts";
import { fencesOf, rowsToRestore } from "./steps/host-move.ts";

export async function hostState(run: RunFolder) {
  const plan = await presentMoves(run);
  const { entries } = await readJournal(run);
  const isLegacy = (await kindOf(run)).variant === "baremetal";
  const { mode, from, to, counts, fence } = plan.manifest;
  const { move, there: atTarget, blocked } = counts.verdicts;
  const progress = isLegacy ? legacyProgress(plan, entries) : await progressOf(run, plan, entries);
  const names = from.length === 0 ? "" : ` from ${from.map(({ host }) => host).join(", ")}`;
  const options = { run: run.path };
  const next = (): string => {
    if (progress.next === "rollback") return nextCommand("rollback", options, { all: true });
    if (progress.next === "verify") return nextCommand("verify", options);
    if (progress.next === "nothing") return "nothing, this run was rolled back";
    if (move === 0 && fence.length === 0)
      return `no machine can be moved. For the reasons, run nova2ironic show ${run.path}/plan`;
    if (mode === "move") return nextCommand("host", options, {}, "move");
    if (isLegacy && takenByHand(entries).size === 0)
      return `the agent of ${to.join(", ")} resumes it`;
    const where = { from: from[0]?.host, to: to.join(",") };
    return nextCommand("host", options, where, "takeover");
  };
  return {
    fields: {
      plan: `${mode}${names} to ${to.join(", ")}: ${counted(move, "machine")} to move, ${atTarget} already there, ${blocked} blocked, sha256 ${plan.sha256.slice(0, 12)}`,
      ...{ move: progress.move, fence: progress.fence },
    },
    next: next(),
    /** Rows or machines that a rollback restores. */
    changed: progress.changed,
  };
}

async function progressOf(run: RunFolder, plan: MovePlan, entries: Entries) {
  const plans = await movePlans(run, entries);
  const [rows, fences] = [await rowsToRestore(plans, entries), await fencesOf(plans, entries)];
  return {
    move: `${counted(rows - fences, "row of nova is", "rows of nova are")} changed`,
    fence:
      fences === 0
        ? "none of this run"
        : `${counted(fences, "host is", "hosts are")} fenced by this run`,
    ...{ changed: rows, next: nextOf(plan, entries, rows, fences) },
  };
}

function nextOf(plan: MovePlan, entries: Entries, rows: number, fences: number) {
  const last = entries.findLast((entry) => "part" in entry && HOST_PARTS.includes(entry.part));
  if (last?.do === "undo") return "rollback";
  if (last?.do !== "undone") return isComplete(plan, entries) ? "verify" : null;
  if (rows === 0) return "nothing";
  // A rollback with --all was interrupted between batches, or before the fence.
  const lastBatch = batchesOf(entries, HOST_ROWS).findLast(
    (one) => one.do === "begin" || one.do === "undo",
  );
  const cut = lastBatch?.do === "undo" && lastBatch.nodes === "all";
  return cut || rows === fences ? "rollback" : "verify";
}

function isComplete({ sha256, manifest }: MovePlan, entries: Entries): boolean {
  if (!plansOf(entries, ...HOST_PARTS).includes(sha256)) return false;
  const { open, rows, preExisting } = ownershipOf(entries, HOST_ROWS, sha256);
  const existing = [...rows.values()].reduce((sum, more) => sum + more, preExisting.size);
  const { computes, instances } = manifest.counts;
  return open.length === 0 && existing >= computes + instances;
}

function legacyProgress({ manifest }: MovePlan, entries: Entries) {
  const started = startedChangesIn(entries, LEGACY);
  const open = [...started.values()].filter((one) => one.open).length;
  const done = started.size - open;
  const last = entries.findLast((entry) => "id" in entry && entry.part === LEGACY);
  const isUndone = last?.do === "returned" && done === 0;
  const isComplete = done >= manifest.counts.verdicts.move && done > 0;
  const next =
    last?.do === "return" ? "rollback" : isUndone ? "nothing" : isComplete ? "verify" : null;
  return {
    move: `${counted(done, "machine is", "machines are")} moved, ${open} in progress`,
    ...{ fence: fencedText(entries), changed: started.size, next },
  };
}

function fencedText(entries: Entries): string {
  const hosts = [...takenByHand(entries)].filter(
    ([host, marks]) => marks.length > 0 && !hasLifted(host, entries),
  );
  return hosts.length === 0
    ? "none of this run"
    : `the lease of ${hosts.map(([host]) => host).join(", ")} is fenced by this run`;
}
