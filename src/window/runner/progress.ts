import { keyOf, type Ownership, ownershipOf } from "../../engine/ownership.ts";
import { isThrough } from "../../migrate/hosts/nova-rows-left.ts";
import { IRONIC } from "../../model/journal.ts";
import { NOVA_NAMES } from "../../model/nova/nova-plan.ts";
import { awayOf, type RunFiles } from "../../run/files/run-files.ts";
import type { NextCommand } from "../../run/next.ts";
import type { Standing } from "../report/rules/verdict.ts";
import { loadOf } from "./pipeline.ts";

/** The progress of a run with its plan, from its files alone. */
export function standingOf(files: RunFiles): Standing {
  const { handover, verified, finish } = files;
  const ended =
    verified?.final === true ||
    (finish !== undefined && !("missing" in finish) && finish.end !== null);
  const staged =
    handover === null || "missing" in handover ? 0 : handover.staged - handover.released;
  return { load: loadedOf(files, ended), staged, verified: verifiedOf(verified), ended };
}

/** A command to undo before a rollback. For boot, one for each tree. */
export interface BackFirst {
  readonly command: NextCommand;
  readonly tftpRoot?: string;
}

/** Commands to undo before a rollback, which refuses after finish and skips released machines. */
export function backFirst({ finish, handover, boot }: RunFiles): readonly BackFirst[] {
  const back: BackFirst[] = [];
  if (finish !== undefined && !("missing" in finish) && finish.end !== null)
    back.push({ command: "finish" });
  if (handover !== null && !("missing" in handover) && handover.released > 0)
    back.push({ command: "handover" });
  const trees = boot instanceof Map ? [...boot.keys()] : [];
  return [...back, ...trees.map((tftpRoot) => ({ command: "boot" as const, tftpRoot }))];
}

/** Also checks Nova's rows, and rows that a rollback left. */
function loadedOf(files: RunFiles, ended: boolean): Standing["load"] {
  const { journal, plan, nova, verified } = files;
  const load = loadOf(files);
  if ("missing" in journal || "missing" in plan || load === "part") return load;
  const planned = nova === undefined || "missing" in nova ? null : nova.plan;
  if (load === "none") {
    const isThere = [IRONIC, ...NOVA_NAMES].some((name) =>
      isHeld(ownershipOf(journal.entries, name, plan.sha256)),
    );
    return isThere ? "part" : "none";
  }
  // Verify read Nova itself, so it overrides the count.
  if (ended || verified?.rows === true || planned === null) return "whole";
  return isThrough(planned, journal.entries, awayOf(files)) ? "whole" : "part";
}

/** Whether rows of this run exist, or may exist. */
function isHeld({ open, rows, undone }: Ownership): boolean {
  return (
    open.some((span) => undone.get(keyOf(span)) !== "all") ||
    [...rows.values()].some((count) => count > 0)
  );
}

/** Only successful checks are saved, so an empty record means a failure. */
export function verifiedOf(verified: RunFiles["verified"]): Standing["verified"] {
  if (verified === undefined) return "no";
  const { rows, takeover, final } = verified;
  if (rows || final) return "yes";
  return takeover ? "no" : "failed";
}
