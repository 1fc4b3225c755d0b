import type { FormatOptions } from "../../../lib/table/format.ts";
import type { Voice } from "../../commands/shared.ts";
import { type Declared, epilogueOf, optionsOf, type Positional } from "../declared.ts";
import { ADOPTABLE, NODE_ACTIONS } from "./actions.ts";

export interface NodeArgs extends Voice, FormatOptions {
  readonly action: keyof typeof NODE_ACTIONS;
  /** Uuid or name of a node. */
  readonly machine?: string;
  readonly name?: string;
  /** Of list: which. */
  readonly adoptable?: boolean;
  readonly spares?: boolean;
  readonly need?: number;
  readonly identical?: string;
  readonly ironicDb?: string;
}

const ACTIONS = Object.keys(NODE_ACTIONS);

const MACHINE: Positional = [
  "machine",
  { type: "string", describe: "of all but list: uuid or name of the node" },
];
const NAME: Positional = [
  "name",
  { type: "string", describe: "of manage: its server's name; of switchover: the destination" },
];

export const nodeOptions: Declared = {
  command: "node <action> [machine] [name]",
  describe:
    "Give machines that run already their server record; list spares; let an instance continue on one",
  positional: [
    ["action", { type: "string", choices: ACTIONS, describe: ACTIONS.join(", ") }],
    MACHINE,
    NAME,
  ],
  options: optionsOf(NODE_ACTIONS),
  epilogue: epilogueOf(NODE_ACTIONS),
  examples: [
    "$0 node list --adoptable --os-cloud lab",
    "$0 node list --adoptable --all -f json",
    "$0 node list --spares --need 1 --os-cloud lab",
    "$0 node manage n-1 web-1 --run s1 --os-cloud lab",
    "$0 node manage --from machines.csv --run s2 --os-cloud lab --dry-run",
    "$0 node unmanage n-1 --run s1 --os-cloud lab",
    "$0 node switchover n-1 s-1 --run o1 --os-cloud lab --dry-run",
  ],
};

/** A switchover as the specification called it, and its list of spares. */
export const nodeSwitchoverOptions: Declared = {
  command: "node-switchover [machine] [name]",
  describe: false,
  positional: [MACHINE, NAME],
  options: optionsOf({ list: NODE_ACTIONS.list, switchover: NODE_ACTIONS.switchover }),
};
/** The same by names of their own, which help does not list. */
export const adoptableOptions: Declared = {
  command: "adoptable",
  describe: false,
  options: ADOPTABLE,
};
export const manageOptions: Declared = {
  command: "manage [machine] [name]",
  describe: false,
  positional: [MACHINE, NAME],
  options: NODE_ACTIONS.manage.options,
};
export const unmanageOptions: Declared = {
  command: "unmanage <machine>",
  describe: false,
  positional: [MACHINE],
  options: NODE_ACTIONS.unmanage.options,
};
