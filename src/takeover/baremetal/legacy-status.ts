import { begunIn } from "../../engine/begun.ts";
import type { Entries } from "../../model/journal.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import type { MovePlan } from "../../run/host-files.ts";
import { nextCommand } from "../../run/next.ts";
import { hasLifted, takenByHand } from "./legacy-journal.ts";
import { LEGACY } from "./steps/legacy-begun.ts";

/** What is true of a run that moves machines of nova-baremetal, by its files alone, and what comes next. */
export function legacyState(run: RunFolder, { manifest, sha256 }: MovePlan, entries: Entries) {
  const { mode, from, to, counts } = manifest;
  const begun = begunIn(entries, LEGACY);
  const open = [...begun.values()].filter((one) => one.open).length;
  const names = from.map(({ host }) => host).join(", ");
  return {
    fields: {
      plan: `${mode} from ${names} to ${to.join(", ")}: ${counts.verdicts.move} machines to move, ${counts.verdicts.there} there already, ${counts.verdicts.blocked} blocked, sha256 ${sha256.slice(0, 12)}`,
      move: `${begun.size - open} machines are moved, ${open} are under way`,
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
