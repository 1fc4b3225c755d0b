import type { ObservedState } from "./seen.ts";

export type Phase = "forward" | "back" | "faults" | "plugin" | "tempest";

/** What must hold of a rehearsal; a file each in grenade/expect/. */
export interface Claim {
  /** A sentence that is true when it holds. */
  readonly name: string;
  readonly phases: readonly Phase[];
  /** What speaks against it; throws where it was not seen at all. */
  readonly check: (seen: ObservedState) => readonly string[];
  /** How to break it on purpose: what is seen then. The runner breaks each, and wants it red. */
  readonly broken: (seen: ObservedState) => ObservedState;
}

export interface Verdict {
  readonly name: string;
  readonly result: "holds" | "fails" | "not evaluated" | "cannot fail";
  readonly why: readonly string[];
}

/** Judges a claim, and then whether it would have been red. */
export function judge({ name, check, broken }: Claim, seen: ObservedState): Verdict {
  const [why, missing] = attempt(() => check(seen));
  if (missing !== null) return { name, result: "not evaluated", why: [missing] };
  if (why.length > 0) return { name, result: "fails", why };
  const [red] = attempt(() => check(broken(seen)));
  if (red.length === 0)
    return { name, result: "cannot fail", why: ["broken on purpose, it holds all the same"] };
  return { name, result: "holds", why: [] };
}

function attempt(check: () => readonly string[]): readonly [readonly string[], string | null] {
  try {
    return [check(), null];
  } catch (cause) {
    return [[], cause instanceof Error ? cause.message : String(cause)];
  }
}
