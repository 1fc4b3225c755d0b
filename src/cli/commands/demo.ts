import { demo } from "../../demo/demo.ts";
import { program } from "../../edge/disk/package-root.ts";
import { EXIT_STATUS } from "../../model/exit-status.ts";
import { exitWith, print } from "./shared.ts";

export async function demoCommand(): Promise<void> {
  if (!(await demo(program(), print))) exitWith(EXIT_STATUS.failed.status);
}
