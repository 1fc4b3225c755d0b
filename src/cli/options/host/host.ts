import type { FormatOptions } from "../../../lib/table/format.ts";
import type { Voice } from "../../commands/shared.ts";
import { type Declared, epilogueOf, optionsOf } from "../declared.ts";
import { HOST_ACTIONS } from "./actions.ts";

export interface HostArgs extends Voice, FormatOptions {
  readonly action: keyof typeof HOST_ACTIONS;
  /** The host that a word names without an option. */
  readonly compute?: string;
}

const ACTIONS = Object.keys(HOST_ACTIONS);

export const hostOptions: Declared = {
  command: "host <action> [compute]",
  describe: "Move machines between compute hosts, and take over those of a dead one",
  positional: [
    ["action", { type: "string", choices: ACTIONS, describe: ACTIONS.join(", ") }],
    [
      "compute",
      {
        type: "string",
        describe:
          "of readmit: the compute host that comes back; of schema: extend, status or revert",
      },
    ],
  ],
  options: optionsOf(HOST_ACTIONS),
  epilogue: epilogueOf(HOST_ACTIONS),
  examples: [
    "$0 host list --nova-db conf:/etc/nova/nova.conf",
    "$0 host plan --run h1 --nova-db conf:/etc/nova/nova.conf --from A --to B",
    "$0 host move --run h1",
    "$0 host schema extend --nova-bm-db conf:/etc/nova/nova.conf",
    "$0 host takeover --run h2 --nova-db conf:/etc/nova/nova.conf --from A --to B",
  ],
};
