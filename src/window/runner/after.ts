import { NAMED } from "../../lib/text.ts";
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

/** The last lines of a command: the next command and its undo. `given` are its options. */
export const AFTER = {
  /** @param withoutConf hosts without a nova.conf */
  extract(given: CommandInputs, withoutConf: readonly string[]) {
    const power = nextCommand("power", given);
    const plan = `then: ${nextCommand("plan", given)}`;
    if (withoutConf.length === 0) return `Next: ${power}\n${plan}`;
    const added = withoutConf.toSorted().slice(0, NAMED);
    const novaConf = [...(given.novaConf ?? []), ...added.map((host) => `${host}=FILE`)];
    return `Next: ${nextCommand("extract", given, { novaConf })}\nor, if a site document sets the power manager: ${power}\n${plan}`;
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
  stoppedPower: (given: CommandInputs) =>
    stopped(nextCommand("power", given, pick(given, ["only", "node", "host"]))),
  /** @param asked BMCs were queried for it */
  plan(given: CommandInputs, counts: PlanCounts, asked: boolean) {
    const first = asked ? showSkipped(given.run) : nextCommand("power", given);
    const lines = `Fix the causes, or accept them in the site document, then run plan again.\nNext: ${first}\nthen: ${nextCommand("plan", given)}`;
    if (loadable(counts) === 0) return `${upper(nothingText(counts))}.\n${lines}`;
    if (!isBlockedPlan(counts)) return `Next: ${nextCommand("apply", given)}`;
    return `${upper(blockedText(counts))}: apply refuses the plan (N2I-E304).\n${lines}\nor: ${nextCommand("apply", given, { skipBlocked: true })}`;
  },
  apply: (given: CommandInputs) =>
    `Next: ${nextCommand("status", given)}\nUndo: ${nextCommand("rollback", given, { all: true, plan: true })}`,
  rehearse: (given: CommandInputs) => `Next: ${nextCommand("status", given)}`,
  boot(given: CommandInputs) {
    const line = (way: object) => nextCommand("boot", given, { ...pick(given, TREE), ...way });
    if (given.undo) return `Next: ${line({})}`;
    return `Next: ${line({ verify: true })}\nUndo: ${line({ undo: true })}`;
  },
  handover: (given: CommandInputs) => otherMethod("handover", given),
  finish: (given: CommandInputs) => otherMethod("finish", given),
} as const;

function upper(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}

function otherMethod(command: NextCommand, given: CommandInputs): string {
  const undo = !given.undo;
  const line = nextCommand(command, given, { ...pick(given, ["node"]), undo });
  return `${undo ? "Undo" : "Next"}: ${line}`;
}
