import { viewer } from "../../lib/table/table.ts";
import { counted } from "../../lib/text.ts";
import type { Rehearsal, RehearsedRefusal } from "../../model/rehearsal.ts";
import { stageTimes } from "../../window/rehearse/rehearsal-file.ts";
import { butFor } from "../../window/report/rules/window.ts";

export const rehearsalView = viewer<Rehearsal["stages"][number]>({
  Stage: "stage",
  Seconds: ({ seconds }) => rounded(seconds),
  ...{ Machines: "machines", Rows: "rows" },
  "Rows/s": ({ rate }) => (rate === null ? null : rounded(rate)),
  Result: "result",
});

/** Three digits, the accuracy of a measured time. */
function rounded(figure: number): number {
  return figure >= 100 ? Math.round(figure) : Number(figure.toPrecision(3));
}

export function rehearsalText(found: Rehearsal): readonly string[] {
  const { refusals, nova, as_before, held: passed, copies, stages } = found;
  const back =
    as_before === null
      ? []
      : [
          as_before
            ? "Rollback: every row in the copies is the same as before."
            : "Rollback: the copies are NOT the same as before.",
        ];
  const times = stageTimes(stages);
  const expected =
    times.length === 0
      ? []
      : [`Expected duration in the window, without waits for services: ${times.join(", ")}.`];
  const drop = `Drop the copies, which contain passwords: ${copies.join(", ")}. To rehearse again, restore them first.`;
  const end = passed
    ? `The rehearsal succeeded${butFor(nova)}: the copies match the plan, and no step was refused.`
    : "The rehearsal failed: see above.";
  return [
    ...[...refusals.map(refusalText), ...back, ...expected],
    ...[...novaText(nova), RIGHTS, drop, end],
  ];
}

function novaText({ rows, left, why: reason }: Rehearsal["nova"]): readonly string[] {
  const NO_HOST = "No compute host was checked.";
  if (rows === 0) return [`Nova: the plan does not change any rows. ${NO_HOST}`];
  if (left > 0)
    return [
      NO_HOST,
      `The rehearsal excludes ${counted(left, "row")} of Nova that the plan changes: ${reason}.`,
    ];
  return [
    `Nova: ${counted(rows, "row was", "rows were")} changed on a copy and rolled back. ${NO_HOST}`,
  ];
}

/** A copy may have another login. */
const RIGHTS = "Privileges on the plan's databases are not rehearsed. check tests them.";

function refusalText({ stage, code, message, fix, went_on }: RehearsedRefusal): string {
  const on = went_on === null ? "" : ` It was rehearsed ${went_on}.`;
  return `${stage} would be refused: ${code} ${message}. ${fix}${on}`;
}
