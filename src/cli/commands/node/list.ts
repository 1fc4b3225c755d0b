import { adoptableCommand } from "./adoptable.ts";
import { sparesCommand } from "./spares.ts";
import { type SwitchoverArgs, switchoverCommand } from "./switchover.ts";

type SparesArgs = Parameters<typeof sparesCommand>[0] & { readonly spares: boolean };

export function nodeListCommand(
  args: Parameters<typeof adoptableCommand>[0] & SparesArgs,
): Promise<void> {
  return args.spares ? sparesCommand(args) : adoptableCommand(args);
}

/** The older command, which performs a switchover or lists spares. */
export function nodeSwitchoverCommand(
  args: Omit<SwitchoverArgs, "run" | "machine"> &
    SparesArgs & { readonly machine?: string; readonly run?: string },
): Promise<void> {
  if (args.spares) return sparesCommand(args);
  const { machine = "", run = "" } = args;
  return switchoverCommand({ ...args, machine, run });
}
