import type { FormatOptions } from "../../../lib/table/format.ts";
import type { FinishWords } from "../../../window/finish/finish.ts";
import type { HandoverWords } from "../../../window/handover/handover.ts";
import type { Voice } from "../../commands/shared.ts";
import { type Declared, flag, number, words } from "../declared.ts";
import { listOptions } from "../format.ts";
import { common, needed, nodeOption, TARGET } from "../shared.ts";

export interface HandoverArgs extends Voice, FormatOptions, HandoverWords {
  readonly inFlight?: number;
  readonly perMinute?: number;
  readonly deadline: number;
  readonly maxFailures: number;
  readonly yes: boolean;
}

export const handoverOptions: Declared = {
  command: "handover",
  describe:
    "Hand staged machines over to Ironic's conductors, one by one, and watch each take-over",
  options: {
    ...common("run"),
    ...needed("ironic-db"),
    ...nodeOption("Only this machine"),
    "in-flight": number(
      "Machines released and not taken over yet, at most. Without it, as many as the conductors take in one pass",
      { least: 1 },
    ),
    "per-minute": number("Machines released a minute, at most", { above: 0 }),
    deadline: number("Seconds a conductor may take for one machine", { default: 900, above: 0 }),
    "max-failures": number("Stop after this many new failures", { default: 1, least: 1 }),
    "conductor-log": words(
      "Log of a conductor, or a copy kept fresh: FILE, or FILE:LINE as verify has it; failures quote it. Repeatable",
    ),
    undo: flag("Put machines this run released back into maintenance"),
    ...common("lock-wait", "after-finish", "no-window", "yes"),
    ...listOptions,
  },
  examples: ["$0 handover --run m1 --ironic-db conf:/etc/ironic/ironic.conf"],
};

export interface FinishArgs extends Voice, FormatOptions, FinishWords {
  readonly plan: boolean;
  readonly yes: boolean;
}

export const finishOptions: Declared = {
  command: "finish",
  describe:
    "End the window: clear the protection of tenants' machines and leave their cleaning to Ironic",
  options: {
    ...common("run", ...TARGET, "in-flight", "lock-wait"),
    ...nodeOption("Only this machine"),
    undo: flag("Protect the machines again that this run cleared"),
    plan: flag("Only show what would be cleared"),
    ...common("no-window", "yes"),
    ...listOptions,
  },
  examples: [
    "$0 finish --run m1 --ironic-db conf:/etc/ironic/ironic.conf --plan",
    "$0 finish --run m1 --ironic-db conf:/etc/ironic/ironic.conf",
  ],
};
