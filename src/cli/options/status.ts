import type { FormatOptions } from "../../lib/table/format.ts";
import type { Places } from "../../migrate/hosts/allocations.ts";
import type { Voice } from "../commands/shared.ts";
import { argument, type Declared, word } from "./declared.ts";
import { formatOptions, listOptions } from "./format.ts";
import { common, meaning } from "./shared.ts";

export interface StatusArgs extends Voice, FormatOptions, Places {
  readonly run: string;
}

export const statusOptions: Declared = {
  command: "status",
  describe:
    "Say what is true of a run and which command comes next; asks no database that is not given",
  options: {
    ...common("run"),
    ...meaning("nova-db", "With --placement-db: nova's database"),
    "placement-db": word(
      "With --nova-db: Placement's database; tells instances without an allocation",
    ),
    ...formatOptions,
  },
  want: ["placement-db: nova-db"],
  examples: ["$0 status --run m1"],
};

export const nextOptions: Declared = {
  command: "next",
  describe: "Say the one next step of a run, why, how long it takes and what undoes it",
  options: { ...common("run"), ...formatOptions },
  examples: ["$0 next --run m1"],
};

export interface WindowArgs extends Voice, FormatOptions {
  readonly run: string;
  readonly action: "open" | "close" | "show";
}

export const windowOptions: Declared = {
  command: "window <action>",
  describe: "Open or close the maintenance window of a run, or show its record",
  positional: [argument("action", "open, close or show", { choices: ["open", "close", "show"] })],
  options: { ...common("run"), ...listOptions },
  examples: ["$0 window open --run m1", "$0 window show --run m1 -f csv"],
};

export const supportOptions: Declared = {
  command: "support",
  describe:
    "Put a run's artefacts, journal and log into an archive for a bug report, without secrets",
  options: {
    ...common("run"),
    to: word("The archive to write; NAME-support.tar.gz in this folder without it"),
  },
  examples: ["$0 support --run m1"],
};
