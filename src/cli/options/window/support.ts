import type { SupportWords } from "../../../window/support.ts";
import type { Voice } from "../../commands/shared.ts";
import { type Declared, word } from "../declared.ts";
import { common } from "../shared.ts";

export interface SupportArgs extends Voice, SupportWords {}

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
