import { advice } from "../../stages/advice.ts";
import type { NextArgs } from "../options/next.ts";
import { printObject } from "../print/out.ts";

export async function nextStepCommand(args: NextArgs): Promise<void> {
  const { next, why, takes, undo } = await advice(args.run);
  await printObject({ next, why, takes, undo }, args);
}
