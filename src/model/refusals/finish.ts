import { EXIT_STATUS } from "../exit.ts";
import type { Refusal } from "./kind.ts";

const { refused } = EXIT_STATUS;

/** N2I-E320 and E321: the end of the window. */
export const FINISH = {
  "N2I-E320": {
    exit: refused.status,
    title: "nothing is loaded that could be finished",
    why: "finish ends the window of a load; there was none, or it was begun from another run folder.",
    fix: "Give the --run that apply was given; status says what is true of it.",
  },
  "N2I-E321": {
    exit: refused.status,
    title: "this run is finished",
    why: "Tenants use their machines again. What takes machines back or loads them once more would act on machines that Nova manages.",
    fix: "If that is what you want: protect the machines again with finish --undo, or give --after-finish. A machine that was deleted, rebuilt or given to another tenant since is left and listed.",
  },
} as const satisfies Record<string, Refusal>;
