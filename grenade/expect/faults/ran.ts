import type { Fleet, Ran, Seen } from "../../lib/seen.ts";

/** A command that ran under this title; without it a claim is not evaluated. */
export function ran(seen: Seen, title: string): Ran {
  const one = seen.ran.find((each) => each.title === title);
  if (one === undefined) throw new Error(`${title} was not run`);
  return one;
}

/** A line for each command that ended otherwise. */
export function ended(
  seen: Seen,
  status: number | string,
  titles: readonly string[],
): readonly string[] {
  return titles
    .map((title) => ran(seen, title))
    .filter((one) => one.status !== status)
    .map(({ title, status: is, err }) => `${title}: exit ${is}: ${err.trim().split("\n").at(-1)}`);
}

/** A line for each command that was not refused with this code. */
export function refused(seen: Seen, code: string, titles: readonly string[]): readonly string[] {
  return titles
    .map((title) => ran(seen, title))
    .filter(({ status, err }) => status === 0 || !err.includes(code))
    .map(({ title, status, err }) => `${title}: exit ${status}, not ${code}: ${err.trim()}`);
}

/** The same, with one command that ended otherwise: how a claim is broken on purpose. */
export function ending(seen: Seen, title: string, status: number): Seen {
  return {
    ...seen,
    ran: seen.ran.map((one) => (one.title === title ? { ...one, status, err: "" } : one)),
  };
}

/** How many machines Ironic has once all are loaded. */
export function live({ tenants, ill, doubted, free, errored, held }: Fleet): number {
  return [tenants, ill, doubted, free, errored, held].flat().length;
}
