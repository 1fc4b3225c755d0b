import { butFor, duration } from "../core/report/window.ts";
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
  const { refusals, without, nova, as_before, held, target } = found;
  const back =
    as_before === null
      ? []
      : [
          as_before
            ? "Rollback: every row of the copies is as it was before."
            : "Rollback: the copies are NOT as they were before.",
        ];
  const lacking = without === null ? [] : [`Not copied, so not rehearsed: ${without}.`];
  const read =
    nova.left < nova.rows
      ? `${target} and Nova's databases were only read.`
      : `${target} was only read.`;
  const end = held
    ? `The rehearsal held${butFor(nova)}: on the copies all is as planned, and nothing was refused. ${read}`
    : `The rehearsal did not hold: see above. ${read}`;
  return [
    ...[...refusals.map(refusalText), ...back, ...forecast(found), ...lacking],
    ...[...novaText(nova), RIGHTS, end],
  ];
}

function novaText({ rows, left, why }: Rehearsal["nova"]): readonly string[] {
  const LOOKED = "No compute host was looked at.";
  if (rows === 0) return [`Nova: the plan changes no rows of it. ${LOOKED}`];
  const copied = rows - left;
  const done = `Nova: ${copied} rows were changed on a copy and taken back. ${LOOKED}`;
  const reason = why === null ? "" : `: ${why}`;
  return [
    copied === 0 ? LOOKED : done,
    ...(left === 0
      ? []
      : [`${left} rows of Nova that the plan changes are not rehearsed${reason}`]),
  ];
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
    ...(shown.length === 0
      ? []
      : [`Expect in the window, waits for services not counted: ${shown.join(", ")}.`]),
    ...(slow === null ? [] : [slow]),
  ];
}
