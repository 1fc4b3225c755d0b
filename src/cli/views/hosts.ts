import { type Columns, rowsOf, type View, viewOf } from "../../lib/table/table.ts";
import { counted } from "../../lib/text.ts";
import type { Finding } from "../../model/findings.ts";
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

export function hostsText(findings: readonly Finding[]): readonly string[] {
  return findings.map(({ code, place, message }) => `${code} ${place}: ${message}`);
}

export function movesText({ machines, verdicts, computes, instances }: MoveCounts): string {
  const { move, there: atTarget, blocked } = verdicts;
  return `Plan: ${move} of ${counted(machines, "machine")} to move (${counted(computes, "compute node")}, ${counted(instances, "instance")}); ${atTarget} already there; ${blocked} blocked.`;
}

export function ownersView(rows: AsyncIterable<OwnedRow> | Iterable<OwnedRow>): View {
  const columns = ["Machine", "Name", "Owner", "Up", "Age", "Epoch", "Lock", "State", "Instance"];
  return rowsOf(columns, rows, ({ machine, name, owner, up, age, epoch, lock, ...more }) => {
    const is = up === null ? null : up ? "up" : "down";
    return [machine, name, owner, is, age, epoch, lock, more.state, more.instance];
  });
}
