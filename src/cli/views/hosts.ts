import { type Columns, type View, viewOf } from "../../lib/table/table.ts";
import { counted } from "../../lib/text.ts";
import type { Finding } from "../../model/finding.ts";
import type { MoveCounts, OwnedRow, PlannedMove } from "../../model/nova/host-move.ts";

const MOVE: Columns<PlannedMove> = {
  Machine: ({ uuid }) => uuid,
  From: ({ from }) => from,
  To: ({ to }) => to,
  Verdict: ({ verdict }) => verdict,
  Instance: ({ instance }) => instance,
  "Task State": ({ task_state }) => task_state,
  Findings: ({ findings }) =>
    findings
      .map(({ code, accepted }) => (accepted === undefined ? code : `${code} accepted`))
      .join(" "),
  Why: ({ findings }) => findings.map(({ message }) => message).join("; "),
};

export function movesView(moves: AsyncIterable<PlannedMove> | Iterable<PlannedMove>): View {
  return { ...viewOf(MOVE, moves), causes: ["From", "To", "Verdict", "Findings", "Why"] };
}

export function hostsText({
  findings,
}: {
  readonly findings: readonly Finding[];
}): readonly string[] {
  return findings.map(({ code, place, message }) => `${code} ${place}: ${message}`);
}

export function movesText({ machines, verdicts, computes, instances }: MoveCounts): string {
  const { move, there, blocked } = verdicts;
  return `Plan: ${move} of ${counted(machines, "machine")} to move (${counted(computes, "compute node")}, ${counted(instances, "instance")}); ${there} there already; ${blocked} blocked.`;
}

export function hostVerifiedText(counts: { readonly validated: number; readonly wrong: number }) {
  return `Verify: ${counted(counts.validated, "row")} validated, ${counts.wrong} not as they should be.`;
}

const OWNED: Columns<OwnedRow> = {
  Machine: ({ machine }) => machine,
  Name: ({ name }) => name,
  Owner: ({ owner }) => owner,
  Up: ({ up }) => (up === null ? null : up ? "up" : "down"),
  Age: ({ age }) => age,
  Epoch: ({ epoch }) => epoch,
  Lock: ({ lock }) => lock,
  State: ({ state }) => state,
  Instance: ({ instance }) => instance,
};

export function ownersView(rows: AsyncIterable<OwnedRow> | Iterable<OwnedRow>): View {
  return viewOf(OWNED, rows);
}
