import { createSeveral, listed, NAMES, type Several } from "../../../lib/text.ts";
import {
  CHECK_STATUS,
  type CheckResult,
  type CheckVerdict,
  type CheckView,
  type Refused,
} from "../../../model/check.ts";
import { index } from "../../../model/rows.ts";

/** A detail names at most this many, if there are more than a few. */
const MOST = 3;

export const FINE: CheckResult = { result: "Success", details: null };

export function fine(details: string): CheckResult {
  return { result: "Success", details };
}

export function warning(what: string, fix: string): CheckResult {
  return { result: "Warning", details: `${what}\nFix: ${fix}` };
}

export function failure(what: string, fix: string): CheckResult {
  return { result: "Failure", details: `${what}\nFix: ${fix}` };
}

/** The facts of a database that was read, or null. */
export function readable<T extends object>(side: T | Refused | null): T | null {
  return side === null || isRefused(side) ? null : side;
}

export function isRefused<T extends object>(side: T | Refused): side is Refused {
  return "refused" in side;
}

/** An unreadable database has its own row. Other checks only report that they are incomplete. */
export function unseen(option: string): CheckResult {
  return warning(
    `Not checked: ${option} was not read.`,
    "specify it, or see the rows Databases and Privileges",
  );
}

/** A readable database may hide tables: MySQL shows only those with a grant. */
export function unreadable(option: string, tables: string): CheckResult {
  return warning(
    `Not checked: ${tables} cannot be read with ${option}.`,
    `GRANT SELECT on ${tables} to its user, or compare ${option}`,
  );
}

/** The databases of a view, with their options. */
export const OPTIONS = {
  bm: "--nova-bm-db",
  nova: "--nova-db",
  ironic: "--ironic-db",
  api: "--nova-api-db",
  placement: "--placement-db",
} as const;

export type Facts<K extends keyof typeof OPTIONS> = Exclude<NonNullable<CheckView[K]>, Refused>;

export type Deployment<K extends keyof typeof OPTIONS = never> = CheckView &
  ReturnType<typeof lookupsOf> & { readonly [side in K]: Facts<side> };

/** Machines and lines of the plan by key, which most checks compare. */
export function lookupsOf({ bm, plan }: CheckView) {
  const nodes = readable(bm)?.nodes ?? [];
  const lines = plan?.machines ?? [];
  const idsBy = (column: "uuid" | "instance_uuid") => {
    const rows = index(nodes, column);
    return (text: string | null): readonly number[] => rows(text).map(({ id }) => id);
  };
  const [machines, claims] = [idsBy("uuid"), idsBy("instance_uuid")];
  const [byUuid, byId] = [index(lines, "uuid"), index(lines, "id")];
  return {
    /** bm_nodes.ids by UUID of the machine, and of its instance. */
    ...{ machines, claims },
    /** Machines that claim an instance, or the machine of its node in nova. */
    machinesOf(row: { readonly uuid: string; readonly node: string | null }): readonly number[] {
      const claiming = claims(row.uuid);
      return claiming.length > 0 ? claiming : machines(row.node);
    },
    /** A machine's line of the plan by UUID or, without one, by bm_nodes.id. The last of several. */
    line: ({ uuid, id }: { readonly uuid?: string | null; readonly id?: number }) =>
      (uuid ? byUuid(uuid) : byId(id ?? null)).at(-1),
    isSkipped: (id: number): boolean => plan?.skipped.has(id) === true,
  };
}

/**
 * A check of the deployment that requires these databases. With `plan`, it is complete only with a
 * plan. Pure.
 */
export function check<K extends "bm" | "nova" | "ironic" = never>(
  title: string,
  sides: readonly (K | "plan")[],
  inspect: (view: Deployment<K>) => CheckResult,
) {
  return {
    ...{ title, planned: sides.includes("plan") },
    inspect(view: Deployment): CheckResult {
      const lost = sides.find((side) => isRefused<object>(view[side] ?? { refused: null }));
      return lost === undefined || lost === "plan"
        ? inspect(view as Deployment<K>)
        : unseen(OPTIONS[lost]);
    },
  };
}

/** Success if nothing was found. Otherwise the findings with their fix. */
export function resultOf(
  found: Several,
  what: string,
  fix: string,
  result: Exclude<CheckVerdict, "Success"> = "Failure",
): CheckResult {
  if (found.length === 0) return FINE;
  return {
    result,
    details: `${what[0]?.toUpperCase()}${what.slice(1)} (${found.length}): ${listed(found, found.length <= NAMES ? NAMES : MOST)}.\nFix: ${fix}`,
  };
}

/** The first result other than Success, or the last result. */
export function firstOf(...results: readonly CheckResult[]): CheckResult {
  return results.find(({ result }) => result !== "Success") ?? results.at(-1) ?? FINE;
}

export function textsOf<T>(rows: Iterable<T>, of: (row: T) => string | null): Several {
  const texts = createSeveral();
  for (const row of rows) {
    const text = of(row);
    if (text !== null) texts.add(text);
  }
  return texts;
}

export function countOf<T>(rows: Iterable<T>, is: (row: T) => unknown): number {
  let count = 0;
  for (const row of rows) if (is(row)) count += 1;
  return count;
}

/** A fact with its machines by bm_nodes.id. Empty if they are unknown. */
interface MachineFact {
  readonly text: string;
  readonly machines: readonly number[];
}

/** For machines that apply skips. */
export const EXCLUDED = ", and are excluded (--skip-blocked)";

/**
 * As `resultOf`, but operator decisions never fail: machines that the plan skips are excluded, and
 * accepted findings and skipped machines are warnings. All are listed.
 * @param codes findings about the same fact
 */
export function judged(
  { plan, line, isSkipped }: Deployment,
  found: Iterable<MachineFact>,
  codes: readonly string[],
  what: string,
  fix: string,
): CheckResult {
  const accepts = (id: number): boolean => {
    const findings = line({ id })?.findings;
    const present = codes.filter((code) => findings?.has(code));
    return present.length > 0 && present.every((code) => findings?.get(code) === true);
  };
  const isExcluded = (id: number): boolean =>
    plan?.applies.skipsBlocked === true && line({ id })?.blocked === true;
  const [open, accepted] = [createSeveral(), createSeveral()];
  const [excluded, skipped] = [createSeveral(), createSeveral()];
  for (const { text, machines } of found) {
    const remaining = machines.filter((id) => !isSkipped(id));
    if (machines.length > 0 && remaining.length === 0) skipped.add(text);
    else if (remaining.length > 0 && remaining.every(accepts)) accepted.add(text);
    else if (remaining.length > 0 && remaining.every(isExcluded)) excluded.add(text);
    else open.add(text);
  }
  return joined([
    resultOf(open, what, fix),
    resultOf(accepted, `${what}, as you accepted`, fix, "Warning"),
    resultOf(excluded, `${what}${EXCLUDED}`, fix, "Warning"),
    skipped.length === 0 ? FINE : fine(`${listed(skipped, MOST)} (skipped by the site document).`),
  ]);
}

/** Merges several results, the worst first. */
export function joined(parts: readonly CheckResult[]): CheckResult {
  const sorted = parts
    .filter(({ details }) => details !== null)
    .toSorted((one, other) => CHECK_STATUS[other.result].status - CHECK_STATUS[one.result].status);
  const [worst = FINE] = sorted;
  return { result: worst.result, details: sorted.map(({ details }) => details).join("\n") || null };
}

export function lower(value: string | null): string {
  return (value ?? "").toLowerCase();
}
