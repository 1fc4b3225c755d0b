import type { NextStep } from "./given.ts";
import type { RunFiles } from "./run-files.ts";

/** What a run goes through, in its order; `takeover` and `final` are what verify is asked in between. */
export const STAGES = [
  ...["extract", "power", "plan", "check", "apply", "verify", "handover", "takeover", "final"],
  "finish",
] as const;

export type RunStage =
  | "extract"
  | "power"
  | "plan"
  | "check"
  | "apply"
  | "verify"
  | "handover"
  | "takeover"
  | "final"
  | "finish";

/** The stage of a step; null where it is none of the way forward. */
export function stageOf({ command, options }: NextStep): RunStage | null {
  switch (command) {
    case "verify":
      return options?.takeover ? "takeover" : options?.final ? "final" : "verify";
    case "extract":
    case "power":
    case "plan":
    case "apply":
    case "handover":
    case "finish":
      return command;
    case "boot":
    case "retire":
    case "rollback":
    case "run":
    case "status":
      return null;
  }
}

/** Why a stage comes next, and what a person does before it. */
export const WHY: { readonly [stage in RunStage]: string } = {
  extract: "Nothing is known of the deployment yet; it only reads.",
  power: "Each BMC is asked as a conductor will ask it; a machine that nobody asked is blocked.",
  plan: "Only what is in the plan is loaded, and you can look at it first; it writes to no database.",
  check: "It says whether the window can begin.",
  apply:
    "It loads the plan: the first write. Stop every nova-compute of nova-baremetal first, and run check.",
  verify: "It compares Ironic, and Nova where the plan has it, with the plan, row by row.",
  handover: "Machines are loaded and staged: start every ironic-conductor, then hand them over.",
  takeover: "Start every ironic-conductor; it sees whether each machine is taken over.",
  final:
    "Set nova.conf as config says, restart nova-scheduler and start the new nova-compute; it sees whether Nova has each machine.",
  finish: "It ends the window: tenants may delete and rebuild their servers again.",
};

/** What takes a stage back; null where it changes nothing. */
export const UNDONE_BY: {
  readonly [stage in RunStage]: "rollback" | "handover" | "finish" | null;
} = {
  ...{ extract: null, power: null, plan: null, check: null, apply: "rollback", verify: null },
  ...{ handover: "handover", takeover: null, final: null, finish: "finish" },
};

/** How long something took, or would take, in seconds, and where that is known from. */
export interface Figure {
  readonly seconds: number;
  readonly from: string;
}

/** Machines a conductor takes over at a time, and seconds between two such times, unless Ironic says otherwise. */
const TAKEN = 8;
const EVERY = 180;

/** Of staged machines, by what this run released so far, else by Ironic's own settings. */
export function handoverFigure({ handover, journal }: RunFiles): Figure | null {
  if (handover === null || "missing" in handover || "missing" in journal) return null;
  const left = handover.staged - handover.released;
  const at = journal.entries.flatMap((entry) =>
    "part" in entry && entry.part === "hand-over" && "at" in entry ? [Date.parse(entry.at)] : [],
  );
  // As arguments of one call they would be too many, at two entries a machine.
  const first = at.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY);
  const took = (at.reduce((one, other) => Math.max(one, other), first) - first) / 1000;
  return handover.released > TAKEN && took > 0
    ? { seconds: (left * took) / handover.released, from: "this run's pace so far" }
    : {
        seconds: Math.ceil(left / TAKEN) * EVERY,
        from: `Ironic's own settings: ${TAKEN} machines every ${EVERY} s`,
      };
}
