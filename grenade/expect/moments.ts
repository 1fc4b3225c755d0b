import type { Moment, ObservedState } from "../lib/seen.ts";

/** A moment that was seen; without it a claim is not evaluated. */
export function at(seen: ObservedState, name: string): Moment {
  const moment = seen.moments[name];
  if (moment === undefined) throw new Error(`the moment ${name} was not reached`);
  return moment;
}

/** The same, with one moment changed: how a claim is broken on purpose. */
export function changed(
  seen: ObservedState,
  name: string,
  change: (moment: Moment) => Moment,
): ObservedState {
  return { ...seen, moments: { ...seen.moments, [name]: change(at(seen, name)) } };
}

/** A line for each key whose values differ, or that one side lacks. */
export function differences(
  what: string,
  before: { readonly [key: string]: unknown },
  after: { readonly [key: string]: unknown },
): readonly string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) => {
    const [was, is] = [JSON.stringify(before[key]), JSON.stringify(after[key])];
    return was === is ? [] : [`${what} ${key}: was ${was}, is ${is}`];
  });
}
