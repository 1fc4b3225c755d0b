import { MigrationError } from "../../lib/error.ts";
import { counted } from "../../lib/text.ts";
import type { TargetOptions } from "../../migrate/open/backend.ts";
import { loadMappings } from "../../migrate/open/documents.ts";
import type { VerifyRequest } from "../../migrate/verify/verify.ts";
import { IRONIC, plansOf } from "../../model/journal.ts";
import { available, type RunFiles, wasStaged } from "../../run/files/run-files.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import type { NextStep } from "../../run/next.ts";
import type { Sink } from "../../run/sink.ts";
import type { RunStage } from "../../run/stages.ts";
import {
  type CommandFunctions,
  checkRenewable,
  type OptionValues,
  type RunCommandOptions,
  saveDecisions,
} from "./command-lines.ts";
import { endOf, optionsOf } from "./pipeline.ts";
import {
  computeStarted,
  computesStopped,
  conductorAlive,
  takenOver,
  type Waiting,
} from "./wait-for-operator.ts";

export interface RunProgress {
  /** BMCs were queried again because of old readings, which happens only once. */
  renewed: boolean;
  /** Stages that this run repeated, with the reason. A second repetition ends the run. */
  readonly again: Set<string>;
  /** The open window was reported. */
  opened: boolean;
  /** The last applied plan. A second apply would skip the same machines. */
  applied: string | null;
  readonly options: RunCommandOptions;
  readonly commands: CommandFunctions;
  readonly sink: Sink;
}

interface At {
  readonly step: NextStep;
  readonly files: RunFiles | null;
  /** Whether the run goes as far as apply. */
  readonly writes: boolean;
}

/**
 * @returns the exit status of the stage's command. Null: nothing was done, and the run continues with
 * its current step
 */
export async function performed(
  of: RunProgress,
  run: RunFolder | null,
  stage: RunStage,
  at: At,
): Promise<number | null> {
  const { options: runOptions, commands, sink } = of;
  const { step, files } = at;
  const base: OptionValues = { run: runOptions.run, ...(files !== null && optionsOf(step, files)) };
  const { skipBlocked, watch } = runOptions;
  const polling: Waiting = { every: EVERY, sink, most: runOptions.wait };
  switch (stage) {
    case "check": {
      const options = await commands.options("check", { run: runOptions.run, skipBlocked, watch });
      if (run !== null && at.writes)
        await computesStopped(run, options as { novaDb?: string }, polling);
      return commands.perform("check", options);
    }
    case "apply": {
      const staged = (runOptions.staged || wasEverStaged(files)) && { staged: true };
      const second = await secondNight(files, sink);
      const decided = { ...base, ...staged, ...second, skipBlocked, watch };
      const options = await commands.options("apply", decided);
      if (run !== null) await computesStopped(run, options as { novaDb?: string }, polling);
      const first = step.options === undefined && !of.renewed;
      return commands.perform("apply", options).catch((cause: unknown) => {
        const isOld = cause instanceof MigrationError && cause.code === "N2I-E307";
        if (!first || !isOld) throw cause;
        return renewed(of, files);
      });
    }
    case "handover": {
      const options = await commands.options("handover", base);
      await conductorAlive(options as TargetOptions & { run: string }, polling);
      return commands.perform("handover", options);
    }
    case "takeover":
      // If machines were handed over, conductors are already running.
      if (files === null || files.handover === null)
        await sink.confirm(
          "Now start every ironic-conductor. The conductors take over the machines, and must be stopped before a rollback.",
        );
      await takenOver((await commands.options("verify", base)) as VerifyRequest, polling);
      return 0;
    case "final":
      await bootFilesStaged(files, sink);
      await sink.confirm(
        "Now correct nova.conf until `config --check` exits with status 0, restart nova-scheduler and start the new nova-compute. Once it creates or deletes a server, you cannot roll back.",
      );
      await computeStarted((await commands.options("verify", base)) as VerifyRequest, polling);
      return 0;
    case "extract": {
      const options = await commands.options(stage, base);
      // A signal may end the process during extract, so decisions are saved first.
      if (run === null) await saveDecisions(runOptions);
      return commands.perform(stage, options);
    }
    case "power":
    case "plan":
    case "verify":
    case "finish":
      return commands.perform(stage, await commands.options(stage, base));
  }
}

/** Confirms a second load, of machines that the finished run never loaded. */
async function secondNight(files: RunFiles | null, { confirm }: Sink): Promise<OptionValues> {
  const end = files && endOf(files);
  if (end === null) return {};
  const { nodes = 0 } = available(files?.plan)?.counts ?? {};
  await confirm(
    `finish ended this run at ${end.at}. The current plan loads ${counted(nodes, "machine")} that this run never loaded. Were these machines skipped at that time, and have they not been deleted since?`,
  );
  return { "after-finish": true };
}

/** If an earlier plan was staged, conductors are running, so later ones must be staged. */
export function wasEverStaged(files: RunFiles | null): boolean {
  const { entries = [] } = available(files?.journal) ?? {};
  return plansOf(entries, IRONIC).some((plan) => wasStaged(entries, plan));
}

/** Asks for `boot`, because the next reboot fails if takeover leaves deploy mode. */
async function bootFilesStaged(files: RunFiles | null, { confirm }: Sink): Promise<void> {
  const release = available(files?.plan)?.release;
  if (files?.boot !== undefined) return;
  const target = (await loadMappings()).releases.find(({ doc }) => doc.release === release);
  if (target?.doc.boot === "deploy")
    await confirm(
      `Takeover by Ironic ${release} leaves tenants' boot files in deploy mode, and this run has not staged any. Run nova2ironic boot for each conductor's TFTP tree first, or a tenant's next reboot hangs. Are the boot files in place?`,
    );
}

/** After confirmation, replaces old readings and the plan. */
async function renewed(of: RunProgress, files: RunFiles | null): Promise<number | null> {
  const { options, commands, sink } = of;
  checkRenewable(files);
  await sink.confirm("The power readings are too old. Read every BMC and make the plan again?");
  of.renewed = true;
  const { run } = options;
  const status = await commands.perform("power", await commands.options("power", { run }));
  if (status !== 0 && status !== 3) return status;
  return (await commands.perform("plan", await commands.options("plan", { run }))) || null;
}

/** Seconds between two checks of the operator's work. */
const EVERY = 5;
