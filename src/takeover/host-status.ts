import { begunIn } from "../engine/begun.ts";
import { ownershipOf } from "../engine/ownership.ts";
import { counted } from "../lib/text.ts";
import { batchesOf, type Entries, plansOf } from "../model/journal.ts";
import { HOST_PARTS, HOST_ROWS } from "../model/nova/host-move.ts";
import { readJournal } from "../run/files/journal.ts";
import type { RunFolder } from "../run/files/run-folder.ts";
import { kindOf } from "../run/files/run-kind.ts";
import { type MovePlan, movePlans, presentMoves } from "../run/host-files.ts";
import { nextCommand } from "../run/next.ts";
import { hasLifted, takenByHand } from "./baremetal/legacy-journal.ts";
import { LEGACY } from "./baremetal/steps/legacy-begun.ts";
import { fencesOf, rowsToRestore } from "./host-owned.ts";

/** What is true of a run that moves machines, by its files alone, and what comes next. */
export async function hostState(run: RunFolder) {
  const plan = await presentMoves(run);
  const { entries } = await readJournal(run);
  if ((await kindOf(run)).variant === "baremetal") return legacyState(run, plan, entries);
  const plans = await movePlans(run, entries);
  const [rows, fences] = [await rowsToRestore(plans, entries), await fencesOf(plans, entries)];
  const { mode, from, to, counts } = plan.manifest;
  const names = from.length === 0 ? "" : ` from ${from.map(({ host }) => host).join(", ")}`;
  return {
    fields: {
      plan: `${mode}${names} to ${to.join(", ")}: ${counted(counts.verdicts.move, "machine")} to move, ${counts.verdicts.there} there already, ${counts.verdicts.blocked} blocked, sha256 ${plan.sha256.slice(0, 12)}`,
      move: `${counted(rows - fences, "row of nova is", "rows of nova are")} changed`,
      fence:
        fences === 0
          ? "none of this run"
          : `${counted(fences, "host is", "hosts are")} fenced by this run`,
    },
    next: nextOfMove(run, plan, entries, { rows, fences }),
    /** Rows of nova that a rollback restores. */
    changed: rows,
  };
}

/** Entries that begin a way there, or back. */
const WAYS: ReadonlySet<string> = new Set(["begin", "undo"]);

function nextOfMove(
  run: RunFolder,
  plan: MovePlan,
  entries: Entries,
  { rows, fences }: { readonly rows: number; readonly fences: number },
): string {
  const given = { run: run.path };
  const { mode, from, to, counts } = plan.manifest;
  const last = entries.findLast((entry) => "part" in entry && HOST_PARTS.includes(entry.part));
  const rollback = nextCommand("rollback", given, { all: true });
  if (last?.do === "undo") return rollback;
  if (last?.do === "undone") {
    if (rows === 0) return "nothing; what this run changed was taken back";
    // A rollback of all that was cut: between two batches, or before the fence, which goes last.
    const way = batchesOf(entries, HOST_ROWS).findLast(({ do: act }) => WAYS.has(act));
    const cut = way?.do === "undo" && way.nodes === "all";
    return cut || rows === fences ? rollback : nextCommand("verify", given);
  }
  if (isWhole(plan, entries)) return nextCommand("verify", given);
  if (counts.verdicts.move === 0 && plan.manifest.fence.length === 0)
    return `nothing can be moved; nova2ironic show ${run.path}/plan says why`;
  const where = { from: from[0]?.host, to: to.join(",") };
  return mode === "move"
    ? nextCommand("host", given, {}, "move")
    : nextCommand("host", given, where, "takeover");
}

/** Whether every machine that the plan moves was moved, by the journal. */
function isWhole({ sha256, manifest }: MovePlan, entries: Entries): boolean {
  if (!plansOf(entries, ...HOST_PARTS).includes(sha256)) return false;
  const { open, rows, preExisting } = ownershipOf(entries, HOST_ROWS, sha256);
  const there = [...rows.values()].reduce((sum, more) => sum + more, preExisting.size);
  const { computes, instances } = manifest.counts;
  return open.length === 0 && there >= computes + instances;
}

/** What is true of a run that moves machines of nova-baremetal, by its files alone, and what comes next. */
function legacyState(run: RunFolder, { manifest, sha256 }: MovePlan, entries: Entries) {
  const { mode, from, to, counts } = manifest;
  const begun = begunIn(entries, LEGACY);
  const open = [...begun.values()].filter((one) => one.open).length;
  const names = from.map(({ host }) => host).join(", ");
  return {
    fields: {
      plan: `${mode} from ${names} to ${to.join(", ")}: ${counted(counts.verdicts.move, "machine")} to move, ${counts.verdicts.there} there already, ${counts.verdicts.blocked} blocked, sha256 ${sha256.slice(0, 12)}`,
      move: `${counted(begun.size - open, "machine is", "machines are")} moved, ${open} are under way`,
      fence: fencedText(entries),
    },
    next: nextOf(run, manifest, entries, begun.size - open),
    /** Machines that a rollback gives back. */
    changed: begun.size,
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

function nextOf(
  run: RunFolder,
  { mode, from, to, counts, nova_bm }: MovePlan["manifest"],
  entries: Entries,
  done: number,
): string {
  const given = { run: run.path };
  const last = entries.findLast((entry) => "id" in entry && entry.part === LEGACY);
  // A plan of another kind in this folder says nothing of what was begun.
  if (last?.do === "return" || nova_bm === undefined)
    return nextCommand("rollback", given, { all: true });
  if (last?.do === "returned" && done === 0) return "nothing; what this run changed was taken back";
  if (done >= counts.verdicts.move && done > 0) return nextCommand("verify", given);
  if (counts.verdicts.move === 0)
    return `nothing can be moved; nova2ironic show ${run.path}/plan says why`;
  if (mode === "move") return nextCommand("host", given, {}, "move");
  const where = { from: from[0]?.host, to: to.join(",") };
  return takenByHand(entries).size > 0
    ? nextCommand("host", given, where, "takeover")
    : `the agent of ${to.join(", ")} goes on with it`;
}
