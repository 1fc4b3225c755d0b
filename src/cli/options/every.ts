import { ALL_DECISIONS, CONNECTIONS } from "../../run/next.ts";
import { flag, grouped, list, number, string } from "./declared.ts";

/** Options of every command. */
export const everyCommand = grouped("Every command:", {
  quiet: flag("Do not print progress", { alias: "q" }),
  verbose: flag("Print every row, progress every second, and the duration of each stage", {
    alias: "v",
  }),
  json: flag("Print progress as JSON lines on stderr"),
  "progress-interval": number("Seconds between progress lines if there is no terminal", {
    default: 30,
  }),
  "db-timeout": number("Maximum seconds for a database statement", { default: 120, least: 1 }),
  config: string("Connections file (default: NOVA2IRONIC_CONFIG, or ./nova2ironic.yaml)"),
  without: list("Ignore this option's value from nova2ironic.yaml and from the run. Repeatable", {
    choices: [...CONNECTIONS, ...ALL_DECISIONS],
  }),
  debug: flag("If an error occurs, show its origin in the code"),
});
