import { MigrationError } from "../lib/error.ts";
import { loadIdentical } from "../migrate/open/documents.ts";
import type { HardwareDifference } from "../model/switchover.ts";
import { closing } from "../run/databases.ts";
import { readJournal } from "../run/files/journal.ts";
import { inRun } from "../run/run.ts";
import { withSession } from "../run/session.ts";
import { nodeName } from "./rules/spares.ts";
import { stepRows } from "./rules/steps.ts";
import type { Switchover } from "./rules/switching.ts";
import { type NovaOptions, openSwitchClients, type SwitchClients } from "./switchover-nova.ts";
import { type PerformOptions, perform, type Reporting } from "./switchover-perform.ts";
import { decide, type SwitchRequest } from "./switchover-plan.ts";
import { switchedIn } from "./switchover-run.ts";

export interface SwitchOptions
  extends Omit<SwitchRequest, "nova" | "taken" | "everywhere">,
    NovaOptions,
    PerformOptions {
  readonly dryRun: boolean;
  /** Replaces mappings/identical.json. */
  readonly identical?: string;
}

interface SwitchShows {
  readonly steps: (rows: ReturnType<typeof stepRows>) => Promise<void>;
  readonly differences: (rows: readonly HardwareDifference[]) => Promise<void>;
}

/**
 * The same command resumes. A failure before the spare is deployed is rolled back at once.
 *
 * @returns false if a signal stopped it
 * @throws MigrationError N2I-E100, N2I-E306, N2I-E315, N2I-E380 to N2I-E391
 */
export function switchOver(
  options: SwitchOptions,
  shows: SwitchShows,
  sink: Reporting,
): Promise<boolean> {
  const { report } = sink;
  const decided = async ({ service, nova }: SwitchClients) =>
    decide(
      service,
      await loadIdentical(options.identical),
      { ...options, nova },
      shows.differences,
    );
  if (options.dryRun)
    return closing(async (keep) => {
      const clients = await openSwitchClients(options, keep, report, [], { readOnly: true });
      const { plan, source, destination } = await decided(clients);
      await shows.steps(stepRows(plan, source, destination));
      sink.note(
        `${nodeName(destination)} is identical to ${nodeName(source)}. Nothing was changed, and no run was created.`,
      );
      return true;
    });
  return inRun(options.run, "node switchover", { kind: "switchover", create: true }, (run) =>
    closing(async (keep) => {
      const { entries } = await readJournal(run);
      const existing = switchedIn(entries)?.plan;
      if (existing !== undefined) checkSame(existing, options);
      const clients = await openSwitchClients(options, keep, report, entries, { readOnly: false });
      const plan = existing ?? (await decided(clients)).plan;
      return withSession(
        run,
        (session) => perform(options, plan, { run, clients, session, sink }),
        { afterWindow: true },
      );
    }),
  );
}

/** @throws MigrationError N2I-E100 if the run has other nodes */
function checkSame(plan: Switchover, { source, destination }: SwitchOptions): void {
  const is = (ident: string, uuid: string, name: string | null): boolean =>
    ident.toLowerCase() === uuid || ident === name;
  if (
    is(source, plan.source, plan.source_name) &&
    (destination === undefined || is(destination, plan.destination, plan.destination_name))
  )
    return;
  throw new MigrationError(
    "N2I-E100",
    `this run moves ${plan.source_name ?? plan.source} to ${plan.destination_name ?? plan.destination}. For another switchover, use a different --run`,
  );
}
