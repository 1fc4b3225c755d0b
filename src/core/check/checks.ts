import { CHECK_STATUS, type CheckResult, type CheckView } from "../../model/check.ts";
import { charsets } from "./charsets.ts";
import { aggregates, flavors, helpers, images } from "./cloud.ts";
import { hosts } from "./hosts.ts";
import { allocations, mappings } from "./later.ts";
import { loaded } from "./loaded.ts";
import { joined, warning } from "./look.ts";
import { evacuations, queued, reaped, volumes } from "./records.ts";
import { applies, repeated } from "./repeated.ts";
import { computes, deploys, duplicates, unmatched } from "./source.ts";
import { conductors, netboot, owned, power } from "./target.ts";
import { clocks, galera, pairing, privileges, schemas, space } from "./world.ts";

export interface Check {
  readonly title: string;
  /** Whether what it looks at is only whole with a plan. */
  readonly planned?: true;
  readonly look: (view: CheckView) => CheckResult;
}

/** A row of the result, as nova-status prints it. */
export interface CheckRow extends CheckResult {
  readonly title: string;
}

/** The rows of `check`, in the order of the window. */
export const CHECKS: readonly Check[] = [
  { title: "Databases and schema heads", look: schemas },
  { title: "Pairing of releases", look: pairing },
  { title: "Plan can be applied", look: applies, planned: true },
  { title: "Privileges", look: privileges, planned: true },
  { title: "Clock skew", look: clocks },
  { title: "Galera state", look: galera },
  { title: "Charsets", look: charsets },
  { title: "Disk space of the run", look: space },
  { title: "nova-compute stopped", look: computes },
  { title: "Deploy helper stopped", look: helpers },
  { title: "Deployments in flight", look: deploys },
  { title: "Queued requests", look: queued },
  { title: "Duplicate instances", look: duplicates },
  { title: "Unmatched instances", look: unmatched },
  { title: "Instances planned and loaded", look: loaded, planned: true },
  { title: "Deleted instances", look: reaped },
  { title: "Hosts of instances", look: hosts, planned: true },
  { title: "Evacuation records", look: evacuations },
  { title: "Attached volumes", look: volumes },
  { title: "Flavors", look: flavors, planned: true },
  { title: "Images", look: images, planned: true },
  { title: "Aggregates", look: aggregates, planned: true },
  { title: "Instance mappings", look: mappings },
  { title: "Allocations", look: allocations },
  { title: "Boot from the network", look: netboot },
  { title: "Target empty or ours", look: owned },
  { title: "Conductors stopped or staged", look: conductors },
  { title: "Power state in maintenance", look: power },
];

export function checkAll(view: CheckView): readonly CheckRow[] {
  return CHECKS.map(({ title, look, planned }) => ({
    title,
    ...withPlan(planned === true, view, joined([look(view), ...repeated(title, view.plan)])),
  }));
}

const WHY: { readonly [is in CheckView["run"]["is"]]: readonly [why: string, fix: string] } = {
  absent: ["is not there", "nova2ironic extract, then plan; or is --run mistyped?"],
  other: ["holds no run", "nova2ironic extract, then plan; or is --run mistyped?"],
  run: ["has no plan", "nova2ironic plan"],
};

/** What is fine as far as it was looked at, without the plan that has a say in it, is not all. */
function withPlan(planned: boolean, { plan, run }: CheckView, found: CheckResult): CheckResult {
  if (!planned || plan !== null || found.result !== "Success") return found;
  const [why, fix] = WHY[run.is];
  return joined([warning(`Not held against a plan: ${run.path} ${why}.`, fix), found]);
}

/** The worst row decides. */
export function statusOfChecks(rows: readonly CheckRow[]): number {
  return Math.max(0, ...rows.map(({ result }) => CHECK_STATUS[result].status));
}
