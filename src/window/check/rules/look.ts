import { createSeveral, listed, NAMED, type Several } from "../../../lib/text.ts";
import {
  type BmFacts,
  CHECK_STATUS,
  type CheckResult,
  type CheckVerdict,
  type CheckView,
  type LineFacts,
  type PlanFacts,
  type Refused,
} from "../../../model/check.ts";
import { index } from "../../../model/rows.ts";

/** Things a detail names; the others are counted. */
const MOST = 3;
/** So few are named, all of them: databases and services are no more. */
const FEW = NAMED;

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

export function isRefused<T extends object>(side: T | Refused): side is Refused {
  return "refused" in side;
}

/** A database that could not be read says so in its own row; the others only that they did not look. */
export function unseen(option: string): CheckResult {
  return warning(
    `Not looked at: ${option} was not read.`,
    "give it, or see the rows Databases and Privileges",
  );
}

/** A database that could be read hides a table: MySQL lists only those its user may do something with. */
export function unreadable(option: string, tables: string): CheckResult {
  return warning(
    `Not looked at: ${tables} cannot be read behind ${option}.`,
    `GRANT SELECT on ${tables} to its user, or compare ${option}`,
  );
}

/** The databases most looks are at, by the options that name them. */
const OPTIONS = { bm: "--nova-bm-db", nova: "--nova-db", ironic: "--ironic-db" } as const;

/** The view of a look, with what these databases say. */
type Seen<K extends keyof typeof OPTIONS> = CheckView & {
  readonly [side in K]: Exclude<NonNullable<CheckView[side]>, Refused>;
};

/** A look that cannot do without what these databases say. */
export function needing<K extends keyof typeof OPTIONS>(
  needs: readonly K[],
  inspect: (view: Seen<K>) => CheckResult,
): (view: CheckView) => CheckResult {
  return (view) => {
    const lost = needs.find((side) => isRefused<object>(view[side] ?? { refused: null }));
    return lost === undefined ? inspect(view as Seen<K>) : unseen(OPTIONS[lost]);
  };
}

/** Nothing found is a success; anything else comes with what fixes it. */
export function resultOf(
  found: Several,
  what: string,
  fix: string,
  result: Exclude<CheckVerdict, "Success"> = "Failure",
): CheckResult {
  if (found.length === 0) return FINE;
  return {
    result,
    details: `${what[0]?.toUpperCase()}${what.slice(1)} (${found.length}): ${listed(found, found.length <= FEW ? FEW : MOST)}.\nFix: ${fix}`,
  };
}

/** What is said of rows, a text each; null: nothing. */
export function said<T>(rows: Iterable<T>, of: (row: T) => string | null): Several {
  const texts = createSeveral();
  for (const row of rows) {
    const text = of(row);
    if (text !== null) texts.add(text);
  }
  return texts;
}

/** How many rows there are of a kind. */
export function countOf<T>(rows: Iterable<T>, is: (row: T) => unknown): number {
  let count = 0;
  for (const row of rows) if (is(row)) count += 1;
  return count;
}

/** Something that was found of machines, by their numbers in nova_bm; of none where nobody knows. */
export interface MachineFact {
  readonly text: string;
  readonly machines: readonly number[];
}

/** Of machines that apply leaves out. */
export const LEFT_OUT = ", and are left out (--skip-blocked)";

/**
 * As `resultOf`, but what the operator decides fails nothing: machines the plan skips are no part of the window, and
 * a finding that was accepted, or whose machine is left out, is a warning. All are listed.
 *
 * @param codes findings that say the same of a machine
 */
export function judged(
  found: Iterable<MachineFact>,
  plan: PlanFacts | null,
  codes: readonly string[],
  what: string,
  fix: string,
): CheckResult {
  const line = lineOf(plan);
  const accepts = (machine: number): boolean => {
    const findings = line(machine)?.findings;
    const there = codes.filter((code) => findings?.has(code));
    return there.length > 0 && there.every((code) => findings?.get(code) === true);
  };
  const isLeft = (machine: number): boolean =>
    plan?.applies.leaves === true && line(machine)?.blocked === true;
  const [open, accepted, leftOut, skipped] = [
    ...[createSeveral(), createSeveral()],
    ...[createSeveral(), createSeveral()],
  ] as const;
  for (const { text, machines } of found) {
    const left = machines.filter((id) => plan?.skipped.has(id) !== true);
    if (machines.length > 0 && left.length === 0) skipped.add(text);
    else if (left.length > 0 && left.every(accepts)) accepted.add(text);
    else if (left.length > 0 && left.every(isLeft)) leftOut.add(text);
    else open.add(text);
  }
  return joined([
    resultOf(open, what, fix),
    resultOf(accepted, `${what}, as you accepted`, fix, "Warning"),
    resultOf(leftOut, `${what}${LEFT_OUT}`, fix, "Warning"),
    skipped.length === 0 ? FINE : fine(`${listed(skipped, MOST)} (skipped by the site document).`),
  ]);
}

/** What a plan says of a machine, by its number in nova_bm; of several lines the last. */
export function lineOf(plan: PlanFacts | null): (machine: number) => LineFacts | undefined {
  const lines = index(plan?.machines ?? NONE, "id");
  return (machine) => lines(machine).at(-1);
}

/** The same of a node by its uuid, and of a machine that has none by its number. */
export function planned(
  plan: PlanFacts | null,
): (one: { readonly uuid: string | null; readonly id?: number }) => LineFacts | undefined {
  const [lines, line] = [index(plan?.machines ?? NONE, "uuid"), lineOf(plan)];
  return ({ uuid, id }) => (uuid ? lines(uuid).at(-1) : id === undefined ? undefined : line(id));
}

const NONE: readonly LineFacts[] = [];

/** Several looks as one, the worst first. */
export function joined(parts: readonly CheckResult[]): CheckResult {
  const spoken = parts
    .filter(({ details }) => details !== null)
    .toSorted((one, other) => statusOf(other) - statusOf(one));
  const [worst = FINE] = spoken;
  return { result: worst.result, details: spoken.map(({ details }) => details).join("\n") || null };
}

function statusOf({ result }: CheckResult): number {
  return CHECK_STATUS[result].status;
}

/** Numbers of the machines that a text names: their own uuid, or that of the instance they claim. */
export function machinesBy(
  { nodes }: BmFacts,
  column: "uuid" | "instance_uuid",
): (text: string | null) => readonly number[] {
  const rows = index(nodes, column);
  return (text) => rows(text).map(({ id }) => id);
}

export function lower(value: string | null): string {
  return (value ?? "").toLowerCase();
}
