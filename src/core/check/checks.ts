import { CHECK_STATUS, type CheckView, type Looked } from "../../model/check.ts";
import { aggregates } from "./aggregates.ts";
import { flavors, helpers, images } from "./cloud.ts";
import { hosts } from "./hosts.ts";
import { allocations, mappings } from "./later.ts";
import { loaded } from "./loaded.ts";
import {
  computes,
  deploys,
  duplicates,
  evacuations,
  reaped,
  unmatched,
  volumes,
} from "./source.ts";
import { conductors, netboot, owned, power } from "./target.ts";
import { charsets, clocks, galera, pairing, privileges, schemas, space } from "./world.ts";

export interface Check {
  readonly title: string;
  readonly look: (view: CheckView) => Looked;
}

/** A row of the result, as nova-status prints it. */
export interface CheckRow extends Looked {
  readonly title: string;
}

/** The rows of `check`, in the order of the window. */
export const CHECKS: readonly Check[] = [
  { title: "Databases and schema heads", look: schemas },
  { title: "Pairing of releases", look: pairing },
  { title: "Privileges", look: privileges },
  { title: "Clock skew", look: clocks },
  { title: "Galera state", look: galera },
  { title: "Charsets", look: charsets },
  { title: "Disk space of the run", look: space },
  { title: "nova-compute stopped", look: computes },
  { title: "Deploy helper stopped", look: helpers },
  { title: "Deployments in flight", look: deploys },
  { title: "Duplicate instances", look: duplicates },
  { title: "Unmatched instances", look: unmatched },
  { title: "Instances planned and loaded", look: loaded },
  { title: "Deleted instances", look: reaped },
  { title: "Hosts of instances", look: hosts },
  { title: "Evacuation records", look: evacuations },
  { title: "Attached volumes", look: volumes },
  { title: "Flavors", look: flavors },
  { title: "Images", look: images },
  { title: "Aggregates", look: aggregates },
  { title: "Instance mappings", look: mappings },
  { title: "Allocations", look: allocations },
  { title: "Boot from the network", look: netboot },
  { title: "Target empty or ours", look: owned },
  { title: "Conductors stopped or staged", look: conductors },
  { title: "Power state in maintenance", look: power },
];

export function checkAll(view: CheckView): readonly CheckRow[] {
  return CHECKS.map(({ title, look }) => ({ title, ...look(view) }));
}

/** The worst row decides. */
export function statusOfChecks(rows: readonly CheckRow[]): number {
  return Math.max(0, ...rows.map(({ result }) => CHECK_STATUS[result].status));
}
