import { MigrationError } from "../../../lib/error.ts";
import { adoptableCommand } from "./adoptable.ts";
import { sparesCommand } from "./spares.ts";
import { type SwitchoverArgs, switchoverCommand } from "./switchover.ts";

type SparesArgs = Parameters<typeof sparesCommand>[0];

type NodeListArgs = Parameters<typeof adoptableCommand>[0] & SparesArgs & Wanted;

interface Wanted {
  readonly adoptable: boolean;
  readonly spares: boolean;
}

/** @throws MigrationError N2I-E100 */
export function nodeListCommand(args: NodeListArgs): Promise<void> {
  if (args.spares) return sparesCommand(args);
  if (args.adoptable) return adoptableCommand(args);
  throw new MigrationError("N2I-E100", "node list wants --adoptable or --spares");
}

/** A switchover, or the list of spares. @throws MigrationError N2I-E100 */
export function nodeSwitchoverCommand(
  args: Omit<SwitchoverArgs, "run" | "machine"> & {
    readonly machine?: string;
    readonly run?: string;
  } & SparesArgs &
    Wanted,
): Promise<void> {
  if (args.spares) return sparesCommand(args);
  const { machine, run } = args;
  if (machine === undefined || run === undefined)
    throw new MigrationError(
      "N2I-E100",
      `node-switchover wants ${machine === undefined ? "<machine>" : "--run"}`,
    );
  return switchoverCommand({ ...args, machine, run });
}
