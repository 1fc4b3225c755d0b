import { MigrationError } from "../../lib/error.ts";
import type { Json } from "../../lib/json.ts";
import type { ApplyWords } from "../../migrate/apply/apply.ts";
import { checkEngine } from "../../migrate/apply/ironic-place.ts";
import { novaPlanOf } from "../../migrate/hosts/nova-files.ts";
import { loadable, nothingLoads } from "../../migrate/plan/empty-plan.ts";
import { plansThere } from "../../migrate/plan/loaded-plans.ts";
import type { Rehearsal } from "../../model/rehearsal.ts";
import { makeInnerRun } from "../../run/files/inner-run.ts";
import { readJournal } from "../../run/files/journal.ts";
import { writeNote } from "../../run/files/run-folder.ts";
import { surrounded, surroundings } from "../../run/process-context.ts";
import { inRun, openPlan, PLAN, sealOf } from "../../run/run.ts";
import type { Sink } from "../../run/sink.ts";
import { VERSION, whoami } from "../../run/version.ts";
import { openCopies } from "./rehearsal-copies.ts";
import { REHEARSAL, REHEARSED } from "./rehearsal-file.ts";
import { DONE, executeAll, type Rehearsed } from "./rehearsal-way.ts";

export type RehearseWords = Pick<
  ApplyWords,
  | ("run" | "ironicDb" | "novaDb" | "novaApiDb")
  | ("skipBlocked" | "staged" | "powerMaxAge" | "keyFile")
>;

/**
 * Runs apply, verify, rollback, apply and verify on copies of Ironic's and Nova's databases that the operator restored from
 * a backup. The databases of the plan are not opened.
 *
 * @returns null when it was stopped on request
 * @throws MigrationError N2I-E300, N2I-E351 for a database that is not such a copy, N2I-E352
 */
export function rehearse(words: RehearseWords, sink: Sink): Promise<Rehearsal | null> {
  const { ironicDb, novaDb, novaApiDb, skipBlocked, staged, powerMaxAge, keyFile } = words;
  return inRun(words.run, "rehearse", { kind: "migration" }, async (run) => {
    if (ironicDb === undefined)
      throw new MigrationError("N2I-E352", "no --ironic-db names a copy of Ironic's database");
    if (plansThere((await readJournal(run)).entries).length > 0)
      throw new MigrationError("N2I-E352", "what this run loaded is in Ironic already");
    const plan = await openPlan(`${run.path}/${PLAN}`);
    const { header, footer } = plan;
    const machines = loadable(footer.footer);
    if (machines === 0) throw nothingLoads(footer.footer, "N2I-E325");
    checkEngine(header.target, { kind: "db" });
    const seal = await sealOf(run, keyFile, header.key);
    const files = await novaPlanOf(run, footer);
    const copies = await openCopies({ ...words, ironicDb }, header.target, files, seal);
    const { databases, nova, shown, digest } = copies;
    await sink.confirm(
      `Load ${machines} machines into ${shown.join(", ")}, roll them back and load them again there?`,
    );
    const inner = await makeInnerRun(run, REHEARSAL);
    const rehearsed: Rehearsed = {
      ...{ stages: [], refusals: [], loaded: null, asBefore: null, allowed: {} },
    };
    const job = {
      ...{ inner, machines, sink, digest },
      words: {
        ...{ ironicDb, skipBlocked, staged, powerMaxAge, leaveNova: !databases.has("nova-db") },
        ...(keyFile && { keyFile }),
        ...(databases.has("nova-db") && novaDb && { novaDb }),
        ...(databases.has("nova-api-db") && novaApiDb && { novaApiDb }),
      },
    };
    const interrupt = surroundings().onInterrupt();
    try {
      const ended = await surrounded({ ...surroundings(), copies: databases }, () =>
        executeAll(job, rehearsed),
      );
      if (!ended || interrupt.stopping()) return null;
    } finally {
      interrupt.end();
    }
    const { stages, refusals, asBefore, loaded } = rehearsed;
    const rehearsal: Rehearsal = {
      ...{ format: "nova2ironic/rehearsal@1", tool: VERSION, at: new Date().toISOString() },
      ...{ by: whoami(), plan: footer.sha256, copies: shown, stages, refusals, nova },
      ...{ as_before: asBefore, loaded, held: heldOf(rehearsed) },
    };
    await writeNote(run, REHEARSED, rehearsal as unknown as Json); // texts, numbers and lists of them
    return rehearsal;
  });
}

function heldOf({ stages, refusals, asBefore }: Rehearsed): boolean {
  return (
    refusals.length === 0 && asBefore === true && stages.every(({ result }) => result === DONE)
  );
}
