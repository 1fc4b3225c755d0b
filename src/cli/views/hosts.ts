import { viewer } from "../../lib/table/table.ts";
import { counted } from "../../lib/text.ts";
import type { Finding } from "../../model/findings.ts";
import type { MoveCounts, OwnedRow, PlannedMove } from "../../model/nova/host-move.ts";

export const movesView = viewer<PlannedMove>(
  {
    ...{ Machine: "uuid", From: "from", To: "to", Verdict: "verdict", Instance: "instance" },
    "Task State": "task_state",
    Findings: ({ findings }) =>
      findings
        .map(({ code, accepted }) => (accepted === undefined ? code : `${code} accepted`))
        .join(" "),
    Why: ({ findings }) => findings.map(({ message }) => message).join("; "),
  },
  { causes: ["From", "To", "Verdict", "Findings", "Why"] },
);

export function hostsText(findings: readonly Finding[]): readonly string[] {
  return findings.map(({ code, place, message }) => `${code} ${place}: ${message}`);
}

export function movesText({ machines, verdicts, computes, instances }: MoveCounts): string {
  const { move, there: atTarget, blocked } = verdicts;
  return `Plan: ${move} of ${counted(machines, "machine")} to move (${counted(computes, "compute node")}, ${counted(instances, "instance")}); ${atTarget} already there; ${blocked} blocked.`;
}

export const ownersView = viewer<OwnedRow>({
  ...{ Machine: "machine", Name: "name", Owner: "owner" },
  Up: ({ up }) => (up === null ? null : up ? "up" : "down"),
  ...{ Age: "age", Epoch: "epoch", Lock: "lock", State: "state", Instance: "instance" },
});
