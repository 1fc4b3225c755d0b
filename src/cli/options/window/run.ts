import { FOR_STAGES } from "../../../run/next.ts";
import { STAGES } from "../../../run/stages.ts";
import type { RunCommandOptions } from "../../../window/runner/perform-stage.ts";
import type { ListArgs } from "../../commands/shared.ts";
import { type Declared, flag, grouped, number, type OptionTable, string } from "../declared.ts";
import { PLANNING } from "../plan.ts";
import { common } from "../shared.ts";

export interface RunArgs extends ListArgs, RunCommandOptions {
  readonly config?: string;
  readonly without?: readonly string[];
}

/** Options of a stage, without their defaults, which the stage itself sets. */
function of({ command, options = {} }: Declared, names: readonly string[]): OptionTable {
  const table = names.map((name) => {
    const { default: _usual, group: _group, ...option } = options[name] ?? {};
    return [name, { ...option, describe: `${command}: ${option.describe}` }] as const;
  });
  return grouped("Stages:", Object.fromEntries(table));
}

export const runOptions: Declared = {
  command: "run",
  describe: "Perform all stages of a run, and wait for manual steps. Run it again to resume",
  options: {
    ...common("run"),
    until: { choices: STAGES, requiresArg: true, describe: "Stop after this stage" },
    staged: flag("Load machines in maintenance, then hand them over one by one"),
    "skip-blocked": flag("Exclude blocked machines"),
    "per-minute": number("With --staged: maximum number of machines to hand over per minute", {
      above: 0,
    }),
    "pause-file": string("Do not start a stage while this file exists"),
    "hook-timeout": number("Maximum seconds for a hook in RUN/hooks", { default: 300 }),
    watch: number("Seconds that check (60) and apply (20) watch for nova-compute heartbeats", {
      most: 3600,
    }),
    wait: number("Maximum seconds to wait for a manual step (default: no limit)"),
    ...common("yes"),
    ...of(PLANNING.power, FOR_STAGES.power),
    ...of(PLANNING.plan, FOR_STAGES.plan),
  },
  epilogue:
    "The run saves the options of its stages. Hooks are programs in RUN/hooks: before-STAGE and after-STAGE, with the variables NOVA2IRONIC_RUN and NOVA2IRONIC_STAGE. If a hook fails, the run stops.",
  examples: [
    "$0 run --run m1 --until check",
    "$0 run --run m1 --until check --allow-pairing --deploy-kernel ID --deploy-ramdisk ID",
    "$0 run --run m1",
  ],
};
