import type { Finding } from "../../model/finding.ts";
import { FINDINGS } from "../../model/findings.ts";
import type { PlannedMachine } from "../../model/plan.ts";

/** What somebody answers for by name. */
export function acceptedOf({ findings }: Pick<PlannedMachine, "findings">): readonly Finding[] {
  return findings.filter(({ accepted }) => accepted !== undefined);
}

/** Why a machine becomes what it becomes, in words that machines in the same case share. */
export function causeOf({ verdict, state, reason, findings }: PlannedMachine): string {
  const open = findings.filter(
    ({ severity, accepted }) => severity === "blocks" && accepted === undefined,
  );
  const codes = [...new Set(open.map(({ code }) => code))];
  if (codes.length > 0) return codes.map((code) => `${code} ${FINDINGS[code].title}`).join("; ");
  return verdict === "skipped" ? (reason ?? "") : state.outcome;
}
