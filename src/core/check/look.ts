import type { BmFacts, CheckView, Looked, NovaFacts, Outcome, Refused } from "../../model/check.ts";

/** Things a detail names; the others are counted. */
const NAMED = 5;

export const FINE: Looked = { result: "Success", details: null };

export function fine(details: string): Looked {
  return { result: "Success", details };
}

export function isRefused<T extends object>(side: T | Refused): side is Refused {
  return "refused" in side;
}

/** A database that could not be read says so in its own row; the others only that they did not look. */
export function unseen(option: string): Looked {
  return { result: "Warning", details: `Not looked at: ${option} was not read.` };
}

/** Looks that need nova_bm and nova. */
export function withBoth(
  { bm, nova }: CheckView,
  look: (bm: BmFacts, nova: NovaFacts) => Looked,
): Looked {
  if (isRefused(bm)) return unseen("--nova-bm-db");
  if (nova === null || isRefused(nova)) return unseen("--nova-db");
  return look(bm, nova);
}

/** Nothing found is a success; anything else is told with what mends it. */
export function told(
  found: readonly string[],
  what: string,
  mend: string,
  result: Exclude<Outcome, "Success"> = "Failure",
): Looked {
  if (found.length === 0) return FINE;
  const more = found.length > NAMED ? `, and ${found.length - NAMED} more` : "";
  return {
    result,
    details: `${found.length} ${what}: ${found.slice(0, NAMED).join(", ")}${more}.\nMend: ${mend}`,
  };
}

export function lower(value: string | null): string {
  return (value ?? "").toLowerCase();
}
