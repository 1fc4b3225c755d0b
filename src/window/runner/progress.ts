import { keyOf, type Ownership, ownershipOf } from "../../engine/ownership.ts";
import { isThrough } from "../../migrate/hosts/nova-rows-left.ts";
import { IRONIC } from "../../model/journal.ts";
import { NOVA_NAMES } from "../../model/nova/nova-plan.ts";
import { available, awayOf, type RunFiles } from "../../run/files/run-files.ts";
import type { NextCommand } from "../../run/next.ts";
import type { Standing } from "../report/rules/verdict.ts";
import { endOf, loadOf } from "./pipeline.ts";

/** The progress of a run with its plan, from its files alone. */
export function standingOf(files: RunFiles): Standing {
  const { handover, verified } = files;
  const { staged = 0, released = 0 } = available(handover) ?? {};
  const ended = verified?.final === true || endOf(files) !== null;
  return {
    ...{ load: loadedOf(files, ended), staged: staged - released },
    ...{ verified: verifiedOf(verified), ended },
  };
}

/** A command to undo before a rollback. For boot, one for each tree. */
export interface BackFirst {
  readonly command: NextCommand;
  readonly tftpRoot?: string;
}

/** Commands to undo before a rollback, which refuses after finish and skips released machines. */
export function backFirst(files: RunFiles): readonly BackFirst[] {
  const { released = 0 } = available(files.handover) ?? {};
  const trees = available(files.boot)?.keys() ?? [];
  return [
    ...(endOf(files) === null ? [] : [{ command: "finish" as const }]),
    ...(released > 0 ? [{ command: "handover" as const }] : []),
    ...Array.from(trees, (tftpRoot) => ({ command: "boot" as const, tftpRoot })),
  ];
}

/** Also checks Nova's rows, and rows that a rollback left. */
function loadedOf(files: RunFiles, ended: boolean): Standing["load"] {
  const { journal, plan, verified } = files;
  const load = loadOf(files);
  if ("missing" in journal || "missing" in plan || load === "part") return load;
  const planned = available(files.nova)?.plan ?? null;
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
