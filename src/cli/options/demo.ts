import type { Declared } from "./declared.ts";

export const demoOptions: Declared = {
  command: "demo",
  describe: "Run the whole job on a sample deployment in a temporary folder, with SQLite files",
};
