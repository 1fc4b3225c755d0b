import type { NextStep } from "./next.ts";

/** What a run goes through, in its order; `takeover` and `final` are what verify is asked in between. */
export const STAGES = [
  ...["extract", "power", "plan", "check", "apply", "verify", "handover", "takeover", "final"],
  "finish",
] as const;

export type RunStage = (typeof STAGES)[number];

/** Stages that are a look of verify, by its command. */
export const LOOKS: { readonly [stage: string]: string } = {
  ...{ takeover: "verify --takeover", final: "verify --final" },
};

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
    case "host":
    case "node":
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
