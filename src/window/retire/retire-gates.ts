import { MigrationError } from "../../lib/error.ts";
import { novaPlanOf } from "../../migrate/hosts/nova-files.ts";
import { runningComputes } from "../../migrate/hosts/rules/running.ts";
import { isEqual } from "../../migrate/verify/rules/tally.ts";
import { openToVerify, type VerifyAsked, verifyRun } from "../../migrate/verify/verify.ts";
import { nameOfRow, type RowVerdict, type ServerIdentity } from "../../model/artefact.ts";
import { differences } from "../../model/database.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { closing, openRole } from "../../run/databases.ts";
import { readJournal } from "../../run/files/journal.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { endOfRun } from "../../run/finished.ts";
import { openSnapshot, SNAPSHOT } from "../../run/run.ts";
import type { Sink } from "../../run/sink.ts";
import { identify, tableNames } from "../../systems/database/identity.ts";
import type { Database } from "../../systems/database/open.ts";
import { ask, string } from "../../systems/database/rows.ts";
import { baremetalHosts } from "../../systems/nova-db/hosts.ts";
import { identifyNova } from "../../systems/nova-db/plan-open.ts";
import { createNovaTarget } from "../../systems/nova-db/target.ts";
import { handoverOf } from "../runner/run-state.ts";
import { changedSinceExtract } from "../runner/unchanged.ts";
import {
  aloneGate,
  finishedGate,
  type Gate,
  legacyGate,
  outGate,
  sameGate,
  stagedGate,
  verifiedGate,
} from "./conditions.ts";

/** Rows kept for a reason, which counts the others. */
const KEPT = 20;

/** The conditions for nova_bm to be dropped. All are checked. */
export async function retireGates(
  run: RunFolder,
  bm: Database,
  asked: VerifyAsked,
  sink: Sink,
): Promise<readonly Gate[]> {
  const { plan, seal } = await openToVerify(asked);
  const snapshot = await openSnapshot(`${run.path}/${SNAPSHOT}`);
  checkSource(snapshot.header.source.nova_bm, await identify(bm));
  const { entries } = await readJournal(run);
  const finished = finishedGate(await endOfRun(run));
  const beside = (await novaPlanOf(run, plan.footer)) !== null;
  const { novaDb, ...target } = asked;
  const rows: string[] = [];
  const words = { ...target, ...(beside && novaDb !== undefined && { novaDb }) };
  const verified = await verifyRun(words, noting(sink, rows));
  return [
    finished,
    outGate(plan.footer.footer, await skippedIn(plan.lines())),
    stagedGate(await handoverOf(plan, entries), verified.tally),
    verifiedGate(isEqual(verified), rows, beside && novaDb === undefined),
    sameGate(await changedSinceExtract(snapshot.lines(), bm, seal)),
    ...(await placeGates(bm, beside, novaDb)),
  ];
}

/** @param beside the plan has Nova */
async function placeGates(
  bm: Database,
  beside: boolean,
  novaDb?: string,
): Promise<readonly Gate[]> {
  const tables = [...(await tableNames(bm))];
  const versions = "SELECT DISTINCT repository_id AS name FROM migrate_version";
  const rows = tables.includes("migrate_version")
    ? await ask(bm, "reading migrate_version", versions)
    : [];
  const alone = aloneGate(
    tables,
    rows.map(({ name }) => string(name)),
  );
  if (novaDb === undefined) return beside ? [alone, legacyGate(null)] : [alone];
  return closing(async (keep) => {
    const nova = keep(await openRole("nova-db", novaDb, { readOnly: true }));
    const identity = await identifyNova(nova);
    const beats = await createNovaTarget(nova, identity).beats(await baremetalHosts(nova));
    return [alone, legacyGate(runningComputes(beats, beats))];
  });
}

/** Machines that somebody decided to leave; nobody asks for one that was deleted. */
async function skippedIn(lines: AsyncIterable<readonly PlannedMachine[]>): Promise<number> {
  let skipped = 0;
  for await (const batch of lines)
    for (const { verdict, state } of batch)
      if (verdict === "skipped" && state.row !== "deleted") skipped += 1;
  return skipped;
}

/** What is listed is noted, and not shown: verify itself shows it. */
function noting(sink: Sink, rows: string[]): Sink {
  return {
    ...sink,
    async list(of, items) {
      for await (const item of items)
        if (of === "verdicts" && rows.length < KEPT) rows.push(nameOfRow(item as RowVerdict)); // by `of`
    },
  };
}

/** @throws MigrationError N2I-E340 for another database than the one `extract` read */
function checkSource(extracted: ServerIdentity, found: ServerIdentity): void {
  const changed = differences(extracted, found, []);
  if (changed.length > 0)
    throw new MigrationError("N2I-E340", `another nova_bm was extracted: ${changed.join("; ")}`, {
      fix: "Give the --nova-bm-db that extract was given.",
    });
}
