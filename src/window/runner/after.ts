import { NAMES } from "../../lib/text.ts";
import { stopped } from "../../migrate/order.ts";
import {
  blockedText,
  isBlockedPlan,
  loadable,
  nothingText,
} from "../../migrate/plan/empty-plan.ts";
import type { PlanCounts } from "../../model/artefact.ts";
import { type NextCommand, nextCommand, pick, TREE } from "../../run/next.ts";
import { showSkipped } from "./pipeline.ts";

interface CommandInputs {
  readonly run: string;
  readonly novaConf?: readonly string[];
  readonly undo?: boolean;
}

/** The last lines of a command: the next command and its undo. `inputs` are its options. */
export const AFTER = {
  /** @param withoutConf hosts without a nova.conf */
  extract(inputs: CommandInputs, withoutConf: readonly string[]) {
    const power = nextCommand("power", inputs);
    const plan = `then: ${nextCommand("plan", inputs)}`;
    if (withoutConf.length === 0) return `Next: ${power}\n${plan}`;
    const added = withoutConf.toSorted().slice(0, NAMES);
    const novaConf = [...(inputs.novaConf ?? []), ...added.map((host) => `${host}=FILE`)];
    return `Next: ${nextCommand("extract", inputs, { novaConf })}\nor, if a site document sets the power manager: ${power}\n${plan}`;
  },
  /** @param noConf extract had no nova.conf */
  power({ run }: CommandInputs, failed: boolean, noConf: boolean) {
    const plan = nextCommand("plan", { run });
    if (!failed) return `Next: ${plan}`;
    const extract = nextCommand("extract", { run }, { novaConf: ["HOST=FILE"] });
    if (noConf)
      return `Without nova.conf the power manager of a machine is unknown.\nNext: ${extract}\nor: ${plan}`;
    const ask = nextCommand("power", { run }, { only: "failed" });
    return `Once the causes are fixed, read these BMCs again. --only VERDICT and --host HOST select some of them. A plan does not need the readings.\nNext: ${ask}\nor: ${plan}`;
  },
  stoppedPower: (inputs: CommandInputs) =>
    stopped(nextCommand("power", inputs, pick(inputs, ["only", "node", "host"]))),
  /** @param hasReadings BMCs were queried for it */
  plan(inputs: CommandInputs, counts: PlanCounts, hasReadings: boolean) {
    const first = hasReadings ? showSkipped(inputs.run) : nextCommand("power", inputs);
    const lines = `Fix the causes, or accept them in the site document, then run plan again.\nNext: ${first}\nthen: ${nextCommand("plan", inputs)}`;
    if (loadable(counts) === 0) return `${upper(nothingText(counts))}.\n${lines}`;
    if (!isBlockedPlan(counts)) return `Next: ${nextCommand("apply", inputs)}`;
    return `${upper(blockedText(counts))}: apply refuses the plan (N2I-E304).\n${lines}\nor: ${nextCommand("apply", inputs, { skipBlocked: true })}`;
  },
  apply: (inputs: CommandInputs) =>
    `Next: ${nextCommand("status", inputs)}\nUndo: ${nextCommand("rollback", inputs, { all: true, plan: true })}`,
  rehearse: (inputs: CommandInputs) => `Next: ${nextCommand("status", inputs)}`,
  boot(inputs: CommandInputs) {
    const line = (mode: object) => nextCommand("boot", inputs, { ...pick(inputs, TREE), ...mode });
    if (inputs.undo) return `Next: ${line({})}`;
    return `Next: ${line({ verify: true })}\nUndo: ${line({ undo: true })}`;
  },
  handover: (inputs: CommandInputs) => otherMethod("handover", inputs),
  finish: (inputs: CommandInputs) => otherMethod("finish", inputs),
} as const;

function upper(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

function otherMethod(command: NextCommand, inputs: CommandInputs): string {
  const undo = !inputs.undo;
  const line = nextCommand(command, inputs, { ...pick(inputs, ["node"]), undo });
  return `${undo ? "Undo" : "Next"}: ${line}`;
}
