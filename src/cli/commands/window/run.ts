import { MigrationError } from "../../../lib/error.ts";
import { type CommandFunctions, runAgain } from "../../../window/runner/perform-stage.ts";
import { type RunEnd, runStages } from "../../../window/runner/runner.ts";
import type { RunArgs } from "../../options/window/run.ts";
import { exitWith, printMessage, sinkOf } from "../shared.ts";

export async function runCommand(args: RunArgs, commands: CommandFunctions): Promise<void> {
  const again = runAgain(args);
  const walked = await runStages(args, commands, sinkOf({ ...args, format: "table" })).catch(
    (cause: unknown) => {
      // Such an error already has the command that resumes the run.
      if (!(cause instanceof MigrationError && cause.fix.includes("nova2ironic run ")))
        printMessage(args, `The run stops here. Then: ${again}`);
      throw cause;
    },
  );
  if (walked.status !== null) exitWith(walked.status);
  printMessage(args, textOf(walked, again));
}

function textOf({ ended, at, status }: RunEnd, again: string): string {
  switch (ended) {
    case "done":
      return "The run is done.";
    case "until":
      return `Stopped before ${at}, as --until requests.\nNext: ${again.replace(/ --until \S+/, "")}`;
    case "stopped":
      return `Stopped on request at ${at}.\nNext: ${again}`;
    case "gate":
      return `The run stops at ${at} (exit ${status}). After you have resolved the problems above: ${again}`;
  }
}
