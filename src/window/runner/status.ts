import { keyOf, ownershipOf } from "../../engine/ownership.ts";
import { counted } from "../../lib/text.ts";
import { isThrough } from "../../migrate/hosts/nova-files.ts";
import { loadedRowsText } from "../../migrate/rollback/rollback-scope.ts";
import { type Entries, IRONIC, plansOf } from "../../model/journal.ts";
import { NOVA_NAMES } from "../../model/nova/nova-plan.ts";
import {
  available,
  awayOf,
  type Missing,
  type NovaState,
  type RemainingRows,
  type RunFiles,
} from "../../run/files/run-files.ts";
import type { NextCommand } from "../../run/next.ts";
import { rehearsedText } from "../rehearse/rehearsal-file.ts";
import type { CurrentState } from "../report/rules/tally.ts";
import { endOf, loadOf, machinesNotInIronic, nextOf } from "./pipeline.ts";

/** The facts of a run by stage from its files alone, and the next step. */
export function statusOf(files: RunFiles) {
  const { snapshot, plan, rehearsal, journal, handover, nova, boot, finish, rows, verified } =
    files;
  const { staged = 0, released = 0 } = available(handover) ?? {};
  const isFinished = endOf(files) !== null;
  const ended = verified?.final === true || isFinished;
  const taken = available(snapshot);
  const planned = available(plan)?.sha256 ?? null;
  const fields: { readonly [stage: string]: string } = {
    extract: textOf(
      snapshot,
      ({ counts, taken_at, sha256 }) =>
        `${counted(counts.machines, "machine")}, taken ${taken_at}, sha256 ${sha256.slice(0, 12)}`,
    ),
    plan: textOf(plan, ({ counts: { nodes, ports, verdicts }, release, sha256, madeFrom }) => {
      const blocked = counted(verdicts.blocked + verdicts.conflict, "machine");
      const other = madeFrom === taken?.sha256 ? "" : ", made from a different snapshot";
      return `${counted(nodes, "node")} and ${counted(ports, "port")} to add to ${release}, ${blocked} blocked, sha256 ${sha256.slice(0, 12)}${other}`;
    }),
    ...(rehearsal !== undefined && { rehearse: rehearsedText(rehearsal, planned) }),
    apply: textOf(journal, ({ entries }) => appliedText(entries, rows)),
    ...(handover !== null && {
      handover: textOf(
        handover,
        ({ released, staged }) => `${released} of ${counted(staged, "staged machine")} released`,
      ),
    }),
    ...(nova !== undefined && { nova: textOf(nova, novaText) }),
    ...(boot !== undefined && {
      boot: textOf(
        boot,
        (trees) =>
          Array.from(
            trees,
            ([tree, machines]) => `${counted(machines, "machine")} staged in ${tree}`,
          ).join("; ") || "no machine is staged",
      ),
    }),
    ...(finish !== undefined &&
      loadOf(files) === "whole" && {
        finish: textOf(finish, ({ end, guards }) => {
          if (end !== null) return `done, ended ${end.at} by ${end.by}`;
          return guards
            ? "not yet: until then, a tenant's server that is deleted or rebuilt ends in ERROR"
            : "not yet";
        }),
      }),
  };
  /** Undone before a rollback, which refuses after finish and skips released machines. */
  const back: readonly { readonly command: NextCommand; readonly tftpRoot?: string }[] = [
    ...(isFinished ? [{ command: "finish" as const }] : []),
    ...(released > 0 ? [{ command: "handover" as const }] : []),
    ...Array.from(available(boot)?.keys() ?? [], (tftpRoot) => ({
      command: "boot" as const,
      tftpRoot,
    })),
  ];
  return {
    ...{ fields, next: nextOf(files), excluded: machinesNotInIronic(files) },
    ...{
      status: {
        load: loadedOf(files, ended),
        staged: staged - released,
        verified: verifiedOf(verified),
        ended,
      } satisfies CurrentState,
      back,
    },
  };
}

function textOf<T extends object>(part: T | Missing, text: (part: T) => string): string {
  return "missing" in part ? part.missing : text(part);
}

function novaText({ plan, entries, remaining: rest }: NovaState): string {
  const planned =
    plan === null
      ? "not in the plan"
      : `${counted(plan.counts.hosts, "row")} of hosts and ${plan.counts.flavors + (plan.counts.api ?? 0)} of flavors to change, sha256 ${plan.sha256.slice(0, 12)}`;
  const done = plansOf(entries, ...NOVA_NAMES).map((sha256) =>
    doneText(entries, NOVA_NAMES, sha256, "changed"),
  );
  const remaining = ({ rows }: RemainingRows): string =>
    `of the machines that were removed from Ironic, ${counted(rows, "row is", "rows are")} not restored`;
  return [planned, ...done, ...(rest === undefined ? [] : [textOf(rest, remaining)])].join("; ");
}

function doneText(
  entries: Entries,
  parts: readonly string[],
  sha256: string,
  done: string,
): string {
  const all = parts.map((part) => ownershipOf(entries, part, sha256));
  const sum = (of: (one: (typeof all)[number]) => number): number =>
    all.reduce((total, one) => total + of(one), 0);
  const [back, open] = [sum((one) => one.back), sum((one) => one.open.length)];
  const skipped = sum((one) => one.skipped.size);
  const batches = counted(sum((one) => one.started.length) - open, "batch", "batches");
  return [
    `plan ${sha256.slice(0, 12)}: ${counted(
      sum((one) => one.created),
      "row",
    )} ${done} in ${batches}`,
    ...(open > 0 ? [`${counted(open, "batch", "batches")} begun and not recorded as done`] : []),
    ...(back > 0 ? [`${counted(back, "row")} rolled back`] : []),
    ...(skipped > 0 ? [`${counted(skipped, "row")} left by rollback`] : []),
  ].join(", ");
}

function appliedText(entries: Entries, loadedRows: RunFiles["rows"]): string {
  const plans = plansOf(entries, IRONIC);
  const parts = plans.map((sha256) => doneText(entries, [IRONIC], sha256, "created"));
  return [...parts, loadedRowsText(loadedRows) ?? []].flat().join("; ") || "nothing was loaded";
}

/** Also checks Nova's rows, and rows that a rollback left. */
function loadedOf(files: RunFiles, ended: boolean): CurrentState["load"] {
  const { journal, plan, verified } = files;
  const load = loadOf(files);
  if ("missing" in journal || "missing" in plan || load === "part") return load;
  const planned = available(files.nova)?.plan ?? null;
  if (load === "none") {
    const mayExist = [IRONIC, ...NOVA_NAMES].some((name) => {
      const { open, rows, undone } = ownershipOf(journal.entries, name, plan.sha256);
      const isOpen = open.some((span) => undone.get(keyOf(span)) !== "all");
      return isOpen || [...rows.values()].some((count) => count > 0);
    });
    return mayExist ? "part" : "none";
  }
  // Verify read Nova itself, so it overrides the count.
  if (ended || verified?.rows === true || planned === null) return "whole";
  return isThrough(planned, journal.entries, awayOf(files)) ? "whole" : "part";
}

/** Only successful checks are saved, so an empty record means a failure. */
export function verifiedOf(verified: RunFiles["verified"]): CurrentState["verified"] {
  if (verified === undefined) return "no";
  const { rows, takeover, final } = verified;
  if (rows || final) return "yes";
  return takeover ? "no" : "failed";
}
