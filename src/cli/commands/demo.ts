import { demo } from "../../demo/demo.ts";
import { EXIT_STATUS } from "../../lib/exit-status.ts";
import { program } from "../../run/files/package-root.ts";
import { exitWith, print } from "./shared.ts";

export async function demoCommand({ keep }: { readonly keep?: string }): Promise<void> {
  if (!(await demo(program(), print, keep))) exitWith(EXIT_STATUS.failed.status);
}
