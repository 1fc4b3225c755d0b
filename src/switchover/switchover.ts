import { MigrationError } from "../lib/error.ts";
import { loadIdentical } from "../migrate/open/documents.ts";
import { openManageClients } from "../migrate/open/services.ts";
import type { HardwareDifference } from "../model/switchover.ts";
import { closing } from "../run/databases.ts";
import { readJournal } from "../run/files/journal.ts";
import { inRun } from "../run/run.ts";
import { withSession } from "../run/session.ts";
import { nodeName } from "./rules/spares.ts";
import { stepRows } from "./rules/steps.ts";
import type { Switchover, SwitchStepRow } from "./rules/switching.ts";
import { type NovaOptions, openSwitchNova, reopenSwitchNova } from "./switchover-nova.ts";
import {
  type PerformOptions,
  perform,
  type Reporting,
  type SwitchClients,
} from "./switchover-perform.ts";
import { decide, type SwitchRequest } from "./switchover-plan.ts";
import { checkSwitchClients, switchedIn } from "./switchover-run.ts";

export interface SwitchOptions
  extends Omit<SwitchRequest, "nova" | "taken" | "everywhere">,
    NovaOptions,
    PerformOptions {
  readonly dryRun: boolean;
  /** Replaces mappings/identical.json. */
  readonly identical?: string;
}

interface SwitchShows {
  readonly steps: (rows: readonly SwitchStepRow[]) => Promise<void>;
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
  if (options.dryRun) return closing((keep) => preview(options, keep, shows, sink));
  return inRun(options.run, "node switchover", { kind: "switchover", create: true }, (run) =>
    closing(async (keep) => {
      const { entries } = await readJournal(run);
      const clients = await openManageClients(options, keep, sink.report);
      checkSwitchClients(entries, clients.service.identity.address);
      const existing = switchedIn(entries)?.plan;
      if (existing !== undefined) checkSame(existing, options);
      const nova = await (existing === undefined
        ? openSwitchNova(options, clients, keep, { readOnly: false })
        : reopenSwitchNova(existing, options, clients, keep, { readOnly: false, placement: true }));
      const at = { ...clients, nova };
      const first = existing ?? (await decided(options, at, shows)).plan;
      return withSession(
        run,
        (session) => perform(options, first, { run, clients: at, session, sink }),
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

async function decided(
  options: SwitchOptions,
  { service, nova }: SwitchClients,
  shows: SwitchShows,
) {
  const doc = await loadIdentical(options.identical);
  return decide(service, doc, { ...options, nova }, shows.differences);
}

async function preview(
  options: SwitchOptions,
  keep: Parameters<typeof openManageClients>[1],
  shows: SwitchShows,
  sink: Reporting,
): Promise<boolean> {
  const clients = await openManageClients(options, keep, sink.report);
  const nova = await openSwitchNova(options, clients, keep, { readOnly: true });
  const { plan, source, destination } = await decided(options, { ...clients, nova }, shows);
  await shows.steps(stepRows(plan, source, destination));
  sink.note(
    `${nodeName(destination)} is identical to ${nodeName(source)}. Nothing was changed, and no run was created.`,
  );
  return true;
}
