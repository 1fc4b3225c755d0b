import { type Declared, word } from "./declared.ts";

export interface DemoArgs {
  readonly keep?: string;
}

export const demoOptions: Declared = {
  command: "demo",
  describe: "Run the whole migration of a sample deployment, on SQLite files in a temporary folder",
  options: {
    keep: word("A new or empty folder to use and to keep, with the report of the run"),
  },
  examples: ["$0 demo --keep sample"],
};
