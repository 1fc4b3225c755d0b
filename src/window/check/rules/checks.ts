import { counted } from "../../../lib/text.ts";
import { CHECK_STATUS, type CheckResult, type CheckView } from "../../../model/check.ts";
import { POWER_AHEAD, POWER_MAX_AGE } from "../../../model/power.ts";
import { aggregates, flavors, images } from "./cloud.ts";
import { clocks, galera, pairing, privileges, schemas, space } from "./deployment.ts";
import { hosts } from "./hosts.ts";
import { allocations, mappings } from "./later.ts";
import { loaded } from "./loaded.ts";
import { FINE, failure, fine, joined, LEFT_OUT, resultOf, warning } from "./look.ts";
import { evacuations, queued, reaped, volumes } from "./records.ts";
import { computes, deploys, duplicates, unmatched } from "./source.ts";
import { conductors, goingBack, handOver, netboot, owned, power } from "./target.ts";

interface Check {
  readonly title: string;
  /** The check is complete only with a plan. */
  readonly planned?: true;
  readonly inspect: (view: CheckView) => CheckResult;
}

/** A row of the result, in nova-status format. */
export interface CheckRow extends CheckResult {
  readonly title: string;
}

/** The rows of `check`, in the order of the migration. */
export const CHECKS: readonly Check[] = [
  { title: "Databases and schema heads", inspect: schemas },
  { title: "Pairing of releases", inspect: pairing },
  { title: "Plan can be applied", inspect: applies, planned: true },
  { title: "Privileges", inspect: privileges, planned: true },
  { title: "Clock skew", inspect: clocks },
  { title: "Galera state", inspect: galera },
  { title: "Disk space of the run", inspect: space },
  { title: "nova-compute stopped", inspect: computes },
  { title: "Deployments in flight", inspect: deploys },
  { title: "Queued requests", inspect: queued },
  { title: "Duplicate instances", inspect: duplicates },
  { title: "Unmatched instances", inspect: unmatched },
  { title: "Instances planned and loaded", inspect: loaded, planned: true },
  { title: "Deleted instances", inspect: reaped },
  { title: "Hosts of instances", inspect: hosts, planned: true },
  { title: "Evacuation records", inspect: evacuations },
  { title: "Attached volumes", inspect: volumes },
  { title: "Flavors", inspect: flavors, planned: true },
  { title: "Images", inspect: images, planned: true },
  { title: "Aggregates", inspect: aggregates, planned: true },
  { title: "Instance mappings", inspect: mappings },
  { title: "Allocations", inspect: allocations },
  { title: "Boot from the network", inspect: netboot },
  { title: "Target empty or ours", inspect: owned },
  { title: "Conductors stopped or staged", inspect: conductors },
  { title: "Power state in maintenance", inspect: power },
  { title: "Time of the hand-over", inspect: handOver },
  { title: "Time of a rollback", inspect: goingBack },
];

export function checkAll(view: CheckView): readonly CheckRow[] {
  return CHECKS.map((check) => ({ title: check.title, ...withPlan(check, view) }));
}

const WHY: { readonly [is in CheckView["run"]["is"]]: readonly [why: string, fix: string] } = {
  absent: ["does not exist", "nova2ironic extract, then plan. Check --run"],
  other: ["is not a run", "nova2ironic extract, then plan. Check --run"],
  run: ["has no plan", "nova2ironic plan"],
};

/** Without a plan, a successful check that needs one becomes a warning. */
function withPlan({ planned, inspect }: Check, view: CheckView): CheckResult {
  const found = inspect(view);
  if (planned !== true || view.plan !== null || found.result !== "Success") return found;
  const [why, fix] = WHY[view.run.is];
  return joined([warning(`Not compared with a plan: ${view.run.path} ${why}.`, fix), found]);
}

/** The worst row decides. */
export function statusOfChecks(rows: readonly CheckRow[]): number {
  return Math.max(0, ...rows.map(({ result }) => CHECK_STATUS[result].status));
}

/** Reasons for which apply would refuse the plan, in the same words. */
function applies({ plan, run }: CheckView): CheckResult {
  if (plan === null) return FINE;
  const { loads, there, blocked, conflicts, leaves, fresh, readings } = plan.applies;
  const [left, result] = leaves ? [LEFT_OUT, "Warning" as const] : ["", "Failure" as const];
  const show = `nova2ironic show ${run.path}/plan`;
  return joined([
    fresh ? FINE : failure("The plan was made from a different snapshot.", "nova2ironic plan"),
    loads > 0
      ? FINE
      : failure(
          "The plan does not load any machine, so apply refuses it.",
          `${show} shows the reasons. Resolve them, then plan`,
        ),
    resultOf(
      blocked,
      `machines are blocked${left}`,
      `${show}. Fix the data or accept the finding in the site document, then plan. Or exclude them with --skip-blocked`,
      result,
    ),
    resultOf(
      conflicts,
      `machines conflict with rows in Ironic${left}`,
      `${show}. Remove the conflicting rows, then plan. Or exclude the machines with --skip-blocked`,
      result,
    ),
    readings === null ? FINE : aged(readings),
    fine(
      `${counted(loads, "machine loads", "machines load")}, ${there} of them already in Ironic.`,
    ),
  ]);
}

/** Readings that will be too old by the time of apply. */
function aged({
  same,
  minutes,
}: NonNullable<NonNullable<CheckView["plan"]>["applies"]["readings"]>): CheckResult {
  if (!same)
    return failure("The plan has different power readings.", "run plan after the last power");
  if (minutes < -POWER_AHEAD)
    return failure(
      `The oldest power reading is dated ${(-minutes).toFixed(0)} min ahead of this host's clock.`,
      "correct the clock, then run power and plan",
    );
  const age = `The oldest power reading is ${minutes.toFixed(0)} min old`;
  if (minutes <= POWER_MAX_AGE) return fine(`${age}.`);
  return warning(
    `${age}, and apply does not accept readings older than ${POWER_MAX_AGE}.`,
    "run power, then plan, right before apply. Or run apply with --power-max-age MINUTES",
  );
}
