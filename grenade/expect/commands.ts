import type { Claim } from "../lib/claim.ts";

/** Exit statuses that a title may have where that is not 0 alone. */
const MAY: { readonly [title: string]: readonly number[] } = {
  // 1 is Warning; config prints a patch with 2. A turn of going back stands before the title.
  check: [0, 1],
  config: [2],
  // The conductor's log has an ERROR from before.
  logged: [2],
  // It serves until SIGTERM.
  proxy: [143],
};

/** Broken by a machine whose BMC has another password: power, plan and apply do not end 0. */
export const commands: Claim = {
  name: "every command of the product ends as its manual says",
  phases: ["forward", "back", "plugin", "tempest"],
  check: ({ ran }) => {
    if (ran.length === 0) throw new Error("none ran");
    return ran
      .filter(
        ({ title, status }) =>
          !(MAY[title.split("-").at(-1) ?? ""] ?? [0]).some((one) => one === status),
      )
      .map(
        ({ title, status, err, out }) =>
          `${title}: exit ${status}: ${[...last(err, 1), ...last(out, 12)].join(" / ")}`,
      );
  },
  broken: (seen) => ({ ...seen, ran: seen.ran.map((one) => ({ ...one, status: 5 })) }),
};

/** The last lines of a text: an error is one, what `check` found a few. */
function last(text: string, lines: number): readonly string[] {
  return text.trim().split("\n").slice(-lines);
}
