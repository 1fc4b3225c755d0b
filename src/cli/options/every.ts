import { grouped } from "./declared.ts";

/** Options of the program, which every command has. */
export const everyCommand = grouped("Every command:", {
  quiet: {
    alias: "q",
    type: "boolean",
    default: false,
    describe: "No progress on stderr",
  },
  json: {
    type: "boolean",
    default: false,
    describe: "Progress as JSON lines on stderr",
  },
  "progress-interval": {
    type: "number",
    default: 30,
    describe: "Seconds between progress lines without a terminal",
  },
  "db-timeout": {
    type: "number",
    default: 120,
    describe: "Seconds a database may take for one statement",
  },
  debug: {
    type: "boolean",
    default: false,
    describe: "With an error, where it came from",
  },
} as const);
