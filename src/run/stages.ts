import type { NextStep } from "./next.ts";

/** Stages of a run in order. `takeover` and `final` are verify with options. */
export const STAGES = [
  ...["extract", "power", "plan", "check", "apply", "verify", "handover", "takeover", "final"],
  "finish",
] as const;

export type RunStage = (typeof STAGES)[number];

export const COMMANDS: { readonly [stage: string]: string } = {
  ...{ takeover: "verify --takeover", final: "verify --final" },
};

/** Stage of a step. Null if it is not a stage. */
export function stageOf({ command, options }: NextStep): RunStage | null {
  if (command === "verify")
    return options?.takeover ? "takeover" : options?.final ? "final" : "verify";
  return STAGES.find((stage) => stage === command) ?? null;
}

/** Command that reverts a stage. Null if it changes nothing. */
export const UNDONE_BY: {
  readonly [stage in RunStage]: "rollback" | "handover" | "finish" | null;
} = {
  ...{ extract: null, power: null, plan: null, check: null, apply: "rollback", verify: null },
  ...{ handover: "handover", takeover: null, final: null, finish: "finish" },
};
