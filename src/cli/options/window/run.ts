import { FOR_STAGES } from "../../../run/next.ts";
import { STAGES } from "../../../run/stages.ts";
import type { RunWords } from "../../../window/runner/command-lines.ts";
import type { Voice } from "../../commands/shared.ts";
import { type Declared, flag, grouped, number, type OptionTable, word } from "../declared.ts";
import { powerOptions } from "../extract.ts";
import { planOptions } from "../plan.ts";
import { common } from "../shared.ts";

export interface RunArgs extends Voice, RunWords {
  readonly yes: boolean;
  readonly config?: string;
  readonly without?: readonly string[];
}

/** What a stage takes, from its own table; what is so without a word stays the stage's to say. */
function of({ command, options = {} }: Declared, names: readonly string[]): OptionTable {
  const table = names.map((name) => {
    const { default: _usual, group: _group, ...option } = options[name] ?? {};
    return [name, { ...option, describe: `${command}: ${option.describe}` }] as const;
  });
  return grouped("Stages:", Object.fromEntries(table));
}

export const runOptions: Declared = {
  command: "run",
  describe:
    "Walk a run to its end, stage by stage, waiting for what a person does; run it again to go on",
  options: {
    ...common("run"),
    until: { choices: STAGES, requiresArg: true, describe: "Stop behind this stage" },
    staged: flag("Load in maintenance, and hand over machine by machine"),
    "skip-blocked": flag("Leave blocked machines out"),
    "per-minute": number("With --staged: machines handed over a minute, at most", { above: 0 }),
    "pause-file": word("Begin no stage while this file exists"),
    "hook-timeout": number("Seconds that a hook of RUN/hooks may take", { default: 300 }),
    watch: number("Seconds that check (60) and apply (20) watch nova-compute standing still", {
      most: 3600,
    }),
    wait: number("Seconds to wait for what a person does; without it, until it is seen"),
    ...common("yes"),
    ...of(powerOptions, FOR_STAGES.power),
    ...of(planOptions, FOR_STAGES.plan),
  },
  epilogue:
    "The run saves what is given for its stages. Hooks are programs in RUN/hooks: before-STAGE and after-STAGE, with NOVA2IRONIC_RUN and NOVA2IRONIC_STAGE; one that fails stops the run.",
  examples: [
    "$0 run --run m1 --until check",
    "$0 run --run m1 --until check --allow-pairing --deploy-kernel ID --deploy-ramdisk ID",
    "$0 run --run m1",
  ],
};
