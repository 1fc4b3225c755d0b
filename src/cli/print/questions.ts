import { createInterface } from "node:readline/promises";
import { MigrationError } from "../../lib/error.ts";
import { EXIT_STATUS } from "../../lib/exit-status.ts";
import type { Sink } from "../../run/sink.ts";
import { io } from "../io.ts";

/** Asks on a terminal. Otherwise, only `--yes` is an answer. @throws MigrationError N2I-E303 */
export function questions(yes: boolean): Pick<Sink, "askable" | "confirm"> {
  return {
    askable: () => yes || askable(),
    async confirm(question) {
      const answer = yes ? "yes" : await answerTo(`${question} Type "yes" to continue: `);
      if (answer.trim() !== "yes")
        throw new MigrationError("N2I-E303", "nothing was done", {
          fix: `Run the command again, and answer "yes" or pass --yes.`,
        });
    },
  };
}

function askable(): void {
  if (!io().stdin.isTTY || !io().stderr.isTTY)
    throw new MigrationError("N2I-E303", "there is no terminal, and --yes was not passed", {
      fix: "If there is no terminal, pass --yes.",
    });
}

async function answerTo(question: string): Promise<string> {
  askable();
  const readline = createInterface({ input: io().stdin, output: io().stderr });
  try {
    return await readline.question(question).catch(aborted);
  } finally {
    readline.close();
  }
}

/** Ctrl-D and Ctrl-C at a question are no answers. Ctrl-C also sets the exit status. */
function aborted(cause: unknown): string {
  if (!(cause instanceof Error) || cause.name !== "AbortError") throw cause;
  if (/Ctrl\+C/.test(cause.message)) io().status = EXIT_STATUS.interrupted.status;
  io().stderr.write("\n");
  return "";
}
