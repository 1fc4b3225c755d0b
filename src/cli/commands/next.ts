import { advice } from "../../window/runner/next-step.ts";
import type { NextArgs } from "../options/next.ts";
import { printObject } from "../print/out.ts";

export async function nextStepCommand(args: NextArgs): Promise<void> {
  const { next, why, takes, undo } = await advice(args.run);
  await printObject({ next, why, takes, undo }, args);
}
