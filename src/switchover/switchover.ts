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
  words: SwitchOptions,
  shows: SwitchShows,
  sink: Reporting,
): Promise<boolean> {
  if (words.dryRun) return closing((keep) => preview(words, keep, shows, sink));
  return inRun(words.run, "node switchover", { kind: "switchover", create: true }, (run) =>
    closing(async (keep) => {
      const { entries } = await readJournal(run);
      const place = await openManageClients(words, keep, sink.say);
      checkSwitchClients(entries, place.service.identity.address);
      const known = switchedIn(entries)?.plan;
      if (known !== undefined) checkSame(known, words);
      const nova = await (known === undefined
        ? openSwitchNova(words, place, keep, { readOnly: false })
        : reopenSwitchNova(known, words, place, keep, { readOnly: false, placement: true }));
      const at = { ...place, nova };
      const first = known ?? (await decided(words, at, shows)).plan;
      return withSession(
        run,
        (session) => perform(words, first, { run, place: at, session, sink }),
        {
          afterWindow: true,
        },
      );
    }),
  );
}

/** @throws MigrationError N2I-E100 if the run has other nodes */
function checkSame(plan: Switchover, { source, destination }: SwitchOptions): void {
  const is = (said: string, uuid: string, name: string | null): boolean =>
    said.toLowerCase() === uuid || said === name;
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

async function decided(words: SwitchOptions, { service, nova }: SwitchClients, shows: SwitchShows) {
  const doc = await loadIdentical(words.identical);
  return decide(service, doc, { ...words, nova }, shows.differences);
}

async function preview(
  words: SwitchOptions,
  keep: Parameters<typeof openManageClients>[1],
  shows: SwitchShows,
  sink: Reporting,
): Promise<boolean> {
  const place = await openManageClients(words, keep, sink.say);
  const nova = await openSwitchNova(words, place, keep, { readOnly: true });
  const { plan, source, destination } = await decided(words, { ...place, nova }, shows);
  await shows.steps(stepRows(plan, source, destination));
  sink.note(
    `${nodeName(destination)} is identical to ${nodeName(source)}. Nothing was changed, and no run was created.`,
  );
  return true;
}
