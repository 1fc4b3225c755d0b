import type { CommandModule } from "yargs";
import { demo } from "../../demo/demo.ts";
import { program } from "../../demo/package-root.ts";
import { EXIT_STATUS } from "../../model/exit.ts";
import { exitWith, print } from "./shared.ts";

export const demoCommand: CommandModule = {
  command: "demo",
  describe: "Run the whole job on a sample deployment in a temporary folder, with SQLite files",
  async handler() {
    const held = await demo(program(), print);
    if (!held) exitWith(EXIT_STATUS.failed.status);
  },
};
