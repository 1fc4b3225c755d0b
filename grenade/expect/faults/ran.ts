import type { Fleet, ObservedState, Ran } from "../../lib/seen.ts";

/** A command that ran under this title; without it a claim is not evaluated. */
export function ran(seen: ObservedState, title: string): Ran {
  const one = seen.ran.find((each) => each.title === title);
  if (one === undefined) throw new Error(`${title} was not run`);
  return one;
}

/** A line for each command that ended otherwise. */
export function ended(
  seen: ObservedState,
  status: number | string,
  titles: readonly string[],
): readonly string[] {
  return titles
    .map((title) => ran(seen, title))
    .filter((one) => one.status !== status)
    .map(({ title, status: is, err }) => `${title}: exit ${is}: ${err.trim().split("\n").at(-1)}`);
}

/** A line for each command that was not refused with this code. */
export function refused(
  seen: ObservedState,
  code: string,
  titles: readonly string[],
): readonly string[] {
  return titles
    .map((title) => ran(seen, title))
    .filter(({ status, err }) => status === 0 || !err.includes(code))
    .map(({ title, status, err }) => `${title}: exit ${status}, not ${code}: ${err.trim()}`);
}

/** The same, with one command that ended otherwise: how a claim is broken on purpose. */
export function ending(seen: ObservedState, title: string, status: number): ObservedState {
  return {
    ...seen,
    ran: seen.ran.map((one) => (one.title === title ? { ...one, status, err: "" } : one)),
  };
}

/** How many machines Ironic has once all are loaded. */
export function live({ tenants, ill, doubted, free, errored, held }: Fleet): number {
  return [tenants, ill, doubted, free, errored, held].flat().length;
}
