import { demo } from "../../demo/demo.ts";
import { EXIT_STATUS } from "../../lib/exit-status.ts";
import { program } from "../../run/files/package-root.ts";
import { exitWith, print } from "./shared.ts";

export async function demoCommand(): Promise<void> {
  if (!(await demo(program(), print))) exitWith(EXIT_STATUS.failed.status);
}
