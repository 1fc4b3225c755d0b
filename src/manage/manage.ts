import { existsSync } from "node:fs";
import { MigrationError } from "../lib/error.ts";
import { openManagePlace } from "../migrate/open/services.ts";
import { MANAGE, type ManageAsked, type ManagedOne } from "../model/ironic/manage.ts";
import { type Entries, targetOf } from "../model/journal.ts";
import { closing, type Keep } from "../run/databases.ts";
import { readJournal } from "../run/files/journal.ts";
import { inRun } from "../run/run.ts";
import { saveOptions } from "../run/saved-options.ts";
import { withSession } from "../run/session.ts";
import type { Sink } from "../run/sink.ts";
import { readNics } from "../systems/ironic-api/running.ts";
import { openAdapter } from "./manage-adapter.ts";
import { changesOf, checkAsked, type ManageWords } from "./manage-asked.ts";
import type { Notify } from "./manage-events.ts";
import { type Looked, type Managed, perform, recordIn, rowOf } from "./manage-perform.ts";
import type { ManageChange } from "./steps/manage-acts.ts";

/**
 * Creates server records of running machines, without scheduling and without contacting a BMC. The
 * same command resumes. A machine that fails during its steps is rolled back at once.
 *
 * @param notify receives the start and end of each machine
 * @throws MigrationError N2I-E100, N2I-E103 for the options, N2I-E306 for unknown nodes, N2I-E315
 * for a run of another kind, N2I-E370 if no machine can be managed
 */
export function manageMachines(
  all: readonly ManageAsked[],
  words: ManageWords,
  sink: Pick<Sink, "say" | "during">,
  notify: Notify,
): Promise<Managed> {
  checkAsked(all, words);
  const preview = async (entries: Entries): Promise<Managed> =>
    closing(async (keep) => {
      const known = await looked(all, words, entries, { keep, sink });
      return { ...(await wouldBe(known, words)), broke: null };
    });
  // A dry run creates no folder.
  if (words.dryRun && !existsSync(words.run)) return preview([]);
  return inRun(words.run, "node manage", { kind: "manage", create: true }, (run) =>
    closing(async (keep) => {
      const { entries } = await readJournal(run);
      if (words.dryRun) return preview(entries);
      const known = await looked(all, words, entries, { keep, sink });
      const { place, adapter, changes } = known;
      const performed = await withSession(
        run,
        async (session) => {
          const { address } = place.service.identity;
          checkPlace(entries, address);
          await session.begin(MANAGE, { ...adapter.target, address });
          await saveOptions(run, "node", words);
          return perform(known, words, { session, sink, notify });
        },
        { afterWindow: true },
      );
      return withUnreached(changes, performed);
    }),
  );
}

async function looked(
  all: readonly ManageAsked[],
  words: ManageWords,
  entries: Entries,
  { keep, sink }: { readonly keep: Keep; readonly sink: Pick<Sink, "say"> },
): Promise<Looked> {
  const place = await openManagePlace(words, keep, sink.say);
  const adapter = await openAdapter(place, keep, entries, words.nova ?? "allocation");
  const { zones } = adapter;
  const changes = await changesOf(all, place, words, { entries, zones });
  const cards = all.length > 1 ? await readNics(place.service) : null;
  return { place, adapter, changes, cards };
}

function withUnreached(changes: readonly ManageChange[], done: Managed): Managed {
  const reached = new Map(done.rows.map((row) => [row.node, row]));
  const why = done.broke === null ? "the command was stopped before" : "the run failed before";
  const rows = changes.map(
    (change) => reached.get(change.id) ?? rowOf(change, "not reached", null, [why]),
  );
  return { ...done, rows };
}

/** @throws MigrationError N2I-E300 if the run uses another Ironic */
export function checkPlace(entries: Entries, address: string): void {
  const began = targetOf(entries, MANAGE);
  if (began === undefined || began.target.address === address) return;
  throw new MigrationError(
    "N2I-E300",
    `this run manages machines of ${String(began.target.address)}, but the command uses ${address}`,
  );
}

async function wouldBe(
  { adapter, changes, cards }: Looked,
  { inFlight: most }: ManageWords,
): Promise<Omit<Managed, "broke">> {
  const positions = await adapter.there(most, cards).inspect(changes, false);
  const became = { before: "to be managed", after: "managed already" } as const;
  const rows = changes.flatMap((change, at): readonly ManagedOne[] => {
    const position = positions[at];
    const { is = "other", why = [], inService } = position ?? {};
    const would = is === "before" || is === "after" ? became[is] : "left";
    const what = inService === true ? "in service" : would;
    return [rowOf(change, what, recordIn(change, position), why)];
  });
  return { rows, stopped: false, stays: new Map(), inUse: new Set() };
}
