import { graceEnd, type Retirement } from "../../model/archive.ts";
import type { PlanCounts } from "../../model/artefact.ts";
import { listed, NAMED } from "../../model/text.ts";
import type { Tally } from "../verify/tally.ts";

/** One condition for nova_bm to go, and why it does not hold; null where it does. */
export interface Gate {
  readonly gate: string;
  readonly why: string | null;
}

const UNTOLD = "nothing says where Nova is, which the plan has; give --nova-db";

/** nova_bm's own tables, and those of leases, in the order they are dropped: what names the database goes last. */
export const DROPPED: readonly string[] = [
  ...["bm_boot_records", "bm_locks", "bm_service_leases"],
  "bm_deployments",
  "bm_pxe_ips",
  "bm_interfaces",
  "bm_nodes",
  "migrate_version",
];

/** Tables that tell that another service lives in the same database. */
const OTHERS = ["instances", "compute_nodes", "nodes", "conductors", "flavors"];

/** @param skipped machines the site document leaves out, the soft-deleted not among them */
export function outGate({ verdicts }: PlanCounts, skipped: number): Gate {
  const kinds = [
    [verdicts.blocked, "blocked"],
    [verdicts.conflict, "in conflict"],
    [skipped, "skipped by the site document"],
  ] as const;
  const out = kinds.flatMap(([count, what]) => (count === 0 ? [] : [`${count} ${what}`]));
  return {
    gate: "every machine is carried over",
    why: out.length === 0 ? null : `${out.join(", ")}: nova_bm alone has them`,
  };
}

/** @param handover of a staged load; null: it was not staged */
export function stagedGate(
  handover: { readonly staged: number; readonly released: number } | null,
  { staged }: Pick<Tally, "staged">,
): Gate {
  const waits = Math.max(
    staged,
    handover === null ? 0 : Math.max(0, handover.staged - handover.released),
  );
  return {
    gate: "no machine is staged",
    why: waits === 0 ? null : `${waits} machines wait for handover`,
  };
}

/**
 * @param rows names of those that differ
 * @param untold the plan has Nova, and nothing says where it is
 */
export function verifiedGate(equal: boolean, rows: readonly string[], untold: boolean): Gate {
  const named = rows.length === 0 ? "rows of Nova" : listed(rows, NAMED);
  const wrong = equal ? [] : [`not as planned: ${named}; run verify`];
  const why = [...wrong, ...(untold ? [`Nova was not compared: ${UNTOLD}`] : [])];
  return { gate: "verify finds every row", why: why.length === 0 ? null : why.join("; ") };
}

/** @param changed rows by name */
export function sameGate(since: "extract" | "the archive", changed: readonly string[]): Gate {
  return {
    gate: `nova_bm is as at ${since === "extract" ? "extract" : "its archive"}`,
    why: changed.length === 0 ? null : `since ${since} ${listed(changed, NAMED)}`,
  };
}

/** @param repositories whose versions migrate_version tells */
export function aloneGate(tables: readonly string[], repositories: readonly string[]): Gate {
  const others = tables.filter((name) => OTHERS.includes(name));
  const foreign = repositories.filter((name) => name !== "nova_bm");
  const found = [
    ...(others.length > 0 ? [`tables ${listed(others, NAMED)}`] : []),
    ...(foreign.length > 0 ? [`schema versions of ${listed(foreign, NAMED)}`] : []),
  ];
  return {
    gate: "nova_bm has its database alone",
    why: found.length === 0 ? null : `another service lives there: ${found.join(", ")}`,
  };
}

/** @param running hosts in words; null where the plan has Nova, and nothing says where it is */
export function legacyGate(running: readonly string[] | null): Gate {
  const gate = "no nova-compute uses the baremetal driver";
  if (running === null) return { gate, why: UNTOLD };
  const why = running.length === 0 ? null : `nova-compute reported from ${listed(running, NAMED)}`;
  return { gate, why };
}

export function finishedGate(end: { readonly at: string } | null): Gate {
  return { gate: "the run is finished", why: end === null ? "finish has not ended it" : null };
}

/** @param now milliseconds since 1970 */
export function graceGate({ archive, stale }: Retirement, now: number): Gate {
  const gate = "the grace period is over";
  if (archive === null) return { gate, why: "there is no archive yet; run retire without --drop" };
  if (stale)
    return { gate, why: "this run went on since the archive; run retire without --drop again" };
  const end = graceEnd(archive);
  const days = archive.grace === 1 ? "1 day" : `${archive.grace} days`;
  return {
    gate,
    why: now < end ? `${days} from ${archive.at}: until ${new Date(end).toISOString()}` : null,
  };
}
