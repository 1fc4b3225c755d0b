import { ALL_DECISIONS, CONNECTIONS } from "../../run/next.ts";
import { flag, grouped, number, word, words } from "./declared.ts";

/** Options of the program, which every command has. */
export const everyCommand = grouped("Every command:", {
  quiet: flag("No progress on stderr", { alias: "q" }),
  verbose: flag("Every row of a list, progress each second, and seconds of each stage", {
    alias: "v",
  }),
  json: flag("Progress as JSON lines on stderr"),
  "progress-interval": number("Seconds between progress lines without a terminal", { default: 30 }),
  "db-timeout": number("Seconds a database may take for one statement", { default: 120, least: 1 }),
  config: word("File of connections; else NOVA2IRONIC_CONFIG, or nova2ironic.yaml in this folder"),
  without: words("Without what that file or the run says of this option, as nova-db. Repeatable", {
    choices: [...CONNECTIONS, ...ALL_DECISIONS],
  }),
  debug: flag("With an error, where it came from"),
});
