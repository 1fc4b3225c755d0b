import { duration } from "../core/report/window.ts";
import type { Rehearsal, RehearsedRefusal, RehearsedStage } from "../model/rehearsal.ts";
import { type View, viewOf } from "./table.ts";

/** The way of a rehearsal, stage by stage. */
export function rehearsalView({ stages }: Pick<Rehearsal, "stages">): View {
  return viewOf<RehearsedStage>(
    {
      Stage: ({ stage }) => stage,
      Seconds: ({ seconds }) => rounded(seconds),
      Machines: ({ machines }) => machines,
      Rows: ({ rows }) => rows,
      "Rows/s": ({ rate }) => (rate === null ? null : rounded(rate)),
      Result: ({ result }) => result,
    },
    stages,
  );
}

/** Three figures, as a clock's are no better. */
function rounded(figure: number): number {
  return figure >= 100 ? Math.round(figure) : Number(figure.toPrecision(3));
}

/** What a rehearsal found, a line each; the last one says whether it held. */
export function rehearsalText(found: Rehearsal): readonly string[] {
  const { refusals, without, nova_rows, as_before, held, target } = found;
  const nova =
    "Nova is not rehearsed: no compute host was looked at, and " +
    (nova_rows === 0
      ? "the plan changes no rows of it."
      : `the ${nova_rows} rows of it that the plan changes were not written; check looks at them.`);
  const back =
    as_before === null
      ? []
      : [
          as_before
            ? "Rollback: every row of the copy is as it was before."
            : "Rollback: the copy is NOT as it was before.",
        ];
  const lacking = without === null ? [] : [`Not copied, so not rehearsed: ${without}.`];
  const end = held
    ? `The rehearsal held: on the copy all is as planned, and nothing was refused. ${target} was only read.`
    : `The rehearsal did not hold: see above. ${target} was only read.`;
  return [...refusals.map(refusalText), ...back, ...forecast(found), ...lacking, nova, RIGHTS, end];
}

/** The copy is the login's own. */
const RIGHTS = "Rights on the target are not rehearsed; check looks at them.";

function refusalText({ stage, code, message, fix, went_on }: RehearsedRefusal): string {
  const on = went_on === null ? "" : ` It was rehearsed ${went_on}.`;
  return `${stage} would be refused: ${code} ${message}. ${fix}${on}`;
}

function forecast({ stages, slow }: Rehearsal): readonly string[] {
  const shown = ["apply", "verify", "rollback"].flatMap((name) => {
    const found = stages.find(({ stage }) => stage === name);
    const isElse = name === "rollback" && slow !== null;
    return found === undefined || isElse || /^refused/.test(found.result)
      ? []
      : [`${name} ${duration(found.seconds)}`];
  });
  return [
    ...(shown.length === 0 ? [] : [`Expect of Ironic's rows in the window: ${shown.join(", ")}.`]),
    ...(slow === null ? [] : [slow]),
  ];
}
