import type { AuditDatabases } from "../../migrate/hosts/allocations.ts";
import type { ListArgs } from "../commands/shared.ts";
import { argument, type Declared, string } from "./declared.ts";
import { formatOptions, listOptions } from "./format.ts";
import { common, meaning } from "./shared.ts";

export interface StatusArgs extends ListArgs, AuditDatabases {
  readonly run: string;
}

export const statusOptions: Declared = {
  command: "status",
  describe: "Show the state of a run and its next command. Reads a database only if you specify it",
  options: {
    ...common("run"),
    ...meaning("nova-db", "With --placement-db: Nova's database"),
    "placement-db": string("With --nova-db: Placement's database, to find missing allocations"),
    ...formatOptions,
  },
  needed: ["placement-db: nova-db"],
  examples: ["$0 status --run m1"],
};

export const nextOptions: Declared = {
  command: "next",
  describe: "Show the next step of a run, its reason, its duration and its undo command",
  options: { ...common("run"), ...formatOptions },
  examples: ["$0 next --run m1"],
};

export const windowOptions: Declared = {
  command: "window <action>",
  describe: "Open or close the maintenance window of a run, or show its record",
  positional: [argument("action", "open, close or show", { choices: ["open", "close", "show"] })],
  options: { ...common("run"), ...listOptions },
  examples: ["$0 window open --run m1", "$0 window show --run m1 -f csv"],
};

export const supportOptions: Declared = {
  command: "support",
  describe: "Pack a run's artefacts, journal and log for a bug report, without secrets",
  options: {
    ...common("run"),
    to: string("Output file (default: NAME-support.tar.gz in this folder)"),
  },
  examples: ["$0 support --run m1"],
};
