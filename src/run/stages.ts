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
    case "show":
    case "status":
      return null;
  }
}

/** What takes a stage back; null where it changes nothing. */
export const UNDONE_BY: {
  readonly [stage in RunStage]: "rollback" | "handover" | "finish" | null;
} = {
  ...{ extract: null, power: null, plan: null, check: null, apply: "rollback", verify: null },
  ...{ handover: "handover", takeover: null, final: null, finish: "finish" },
};
