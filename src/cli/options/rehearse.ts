import { POWER_MAX_AGE } from "../../model/power.ts";
import type { FormatOptions } from "../../report/format.ts";
import type { RehearseWords } from "../../stages/rehearse.ts";
import type { Voice } from "../commands/shared.ts";
import { type Declared, flag, number, word } from "./declared.ts";
import { listOptionsWithoutAll } from "./format.ts";
import { common } from "./shared.ts";

export interface RehearseArgs extends Voice, FormatOptions, RehearseWords {
  readonly undo: boolean;
  readonly yes: boolean;
}

export const rehearseOptions: Declared = {
  command: "rehearse",
  describe: "Apply, verify, roll back, apply and verify on copies of Ironic's and Nova's databases",
  options: {
    ...common("run", "ironic-db", "nova-db", "nova-api-db"),
    into: word("Put the copy into this empty database, instead of one made beside --ironic-db"),
    "nova-into": word("The same of the copy of --nova-db"),
    "nova-api-into": word("The same of the copy of --nova-api-db"),
    "skip-blocked": flag("As for apply: leave blocked machines out"),
    staged: flag("As for apply: load in maintenance"),
    "power-max-age": number("As for apply: minutes since the plan's oldest power reading", {
      ...{ default: POWER_MAX_AGE, requiresArg: true },
    }),
    undo: flag("Only remove the copy of a rehearsal that was killed"),
    ...common("yes", "key-file"),
    ...listOptionsWithoutAll,
  },
  examples: [
    "$0 rehearse --run m1 --ironic-db conf:/etc/ironic/ironic.conf",
    "$0 rehearse --run m1 --into file:/root/empty.url --yes",
  ],
};
