import type { CheckResult, CheckView } from "../../../model/check.ts";
import { POWER_AHEAD, POWER_MAX_AGE } from "../../../model/power.ts";
import { FINE, failure, fine, joined, LEFT_OUT, resultOf, warning } from "./look.ts";

/** What apply would refuse the plan for, known before the window: the word for each is apply's own. */
export function applies({ plan, run }: CheckView): CheckResult {
  if (plan === null) return FINE;
  const { loads, there, blocked, conflicts, leaves, fresh, readings } = plan.applies;
  const [left, result] = leaves ? [LEFT_OUT, "Warning" as const] : ["", "Failure" as const];
  const show = `nova2ironic show ${run.path}/plan`;
  return joined([
    fresh ? FINE : failure("The plan was made from another snapshot.", "nova2ironic plan"),
    loads > 0
      ? FINE
      : failure("The plan loads no machine, and apply refuses it.", `${show} says why; then plan`),
    resultOf(
      blocked,
      `machines are blocked${left}`,
      `${show}; fix the data or accept the finding in the site document, then plan; or leave them out with --skip-blocked`,
      result,
    ),
    resultOf(
      conflicts,
      `machines are in conflict with what Ironic holds${left}`,
      `${show}; remove what is there, then plan; or leave them out with --skip-blocked`,
      result,
    ),
    readings === null ? FINE : aged(readings),
    fine(`${loads} machines load, ${there} of them are in Ironic already.`),
  ]);
}

/** Readings of days before are as they should be, until the window. */
function aged({
  same,
  minutes,
}: NonNullable<NonNullable<CheckView["plan"]>["applies"]["readings"]>): CheckResult {
  if (!same)
    return failure(
      "The power readings are not those the plan was made with.",
      "nova2ironic plan, after the last power",
    );
  if (minutes < -POWER_AHEAD)
    return failure(
      `The oldest power reading is dated ${(-minutes).toFixed(0)} minutes ahead of this host's clock.`,
      "set the clock right, then nova2ironic power and plan",
    );
  const age = `The oldest power reading is ${minutes.toFixed(0)} minutes old`;
  if (minutes <= POWER_MAX_AGE) return fine(`${age}.`);
  return warning(
    `${age}, and apply takes none older than ${POWER_MAX_AGE}.`,
    "nova2ironic power, then plan, right before apply; or apply --power-max-age MINUTES",
  );
}
