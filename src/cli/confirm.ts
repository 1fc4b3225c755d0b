import { createInterface } from "node:readline/promises";
import { MigrationError } from "../model/error.ts";
import { EXIT_STATUS } from "../model/exit.ts";
import { io } from "./io.ts";

/**
 * Asks on a terminal; without one, only `--yes` is a yes.
 *
 * @throws MigrationError N2I-E303
 */
export async function confirm(question: string, yes: boolean): Promise<void> {
  if (yes) return;
  if (!io().stdin.isTTY || !io().stderr.isTTY)
    throw new MigrationError("N2I-E303", "there is no terminal to ask, and --yes was not given");
  const readline = createInterface({ input: io().stdin, output: io().stderr });
  try {
    const answer = await readline.question(`${question} Type "yes" to continue: `).catch(aborted);
    if (answer.trim() !== "yes")
      throw new MigrationError("N2I-E303", "nothing was done", {
        fix: `Run it again, and answer "yes" or give --yes.`,
      });
  } finally {
    readline.close();
  }
}

/** Ctrl-D and Ctrl-C at a question are no answers; after Ctrl-C the status says so too. */
function aborted(cause: unknown): string {
  if (!(cause instanceof Error) || cause.name !== "AbortError") throw cause;
  if (/Ctrl\+C/.test(cause.message)) io().status = EXIT_STATUS.interrupted.status;
  io().stderr.write("\n");
  return "";
}
