import { demo } from "../../demo/demo.ts";
import { EXIT_STATUS } from "../../lib/exit-status.ts";
import { exitWith, print } from "./shared.ts";

export async function demoCommand({ keep }: { readonly keep?: string }): Promise<void> {
  if (!(await demo(print, keep))) exitWith(EXIT_STATUS.failed.status);
}
