import type { Gate } from "../core/handover/retire.ts";
import { identify } from "../edge/database/identity.ts";
import type { Database } from "../edge/database/open.ts";
import { readJournal } from "../edge/disk/journal.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { charsetOfTables, describeTables } from "../edge/nova-bm/describe.ts";
import { readSchema } from "../edge/nova-bm/open.ts";
import { ARCHIVE, type ArchiveHeader, type RowsDigest, retirementOf } from "../model/archive.ts";
import type { ServerIdentity } from "../model/artefact.ts";
import { MigrationError } from "../model/error.ts";
import type { RetireEntry } from "../model/journal.ts";
import { proveArchive, restoreArchive, writeArchive } from "./archive.ts";
import { closing, openRole } from "./databases.ts";
import type { Reach } from "./flavor-api.ts";
import { rememberGiven } from "./given-file.ts";
import { archiveGates } from "./retire-gates.ts";
import { checkNotRetired } from "./retired.ts";
import { inRun } from "./run.ts";
import { type RunSession, withSession } from "./session.ts";
import type { Sink } from "./sink.ts";
import { openToVerify, type VerifyAsked } from "./verify.ts";
import { VERSION } from "./version.ts";

/** What retire is given. */
export interface RetireWords extends Omit<VerifyAsked, "allRows" | "final">, Reach {
  readonly novaBmDb: string;
  /** Days between the archive and the drop. */
  readonly grace: number;
}

/** An archive that was made and proved. */
interface Archived {
  readonly path: string;
  readonly sha256: string;
  readonly rows: number;
  readonly tables: number;
}

/** As an entry of the journal names it. */
export const NOVA_BM = "nova-bm";

/**
 * Archives nova_bm in the run, restores the archive once to prove it, and starts the grace period.
 *
 * @throws MigrationError N2I-E340 with every condition that does not hold, N2I-E341, N2I-E343
 */
export function archiveNovaBm(words: RetireWords, sink: Sink): Promise<Archived> {
  return withSource(words, async (run, bm) => {
    checkGates(await archiveGates(run, bm, verifying(words), sink));
    await rememberGiven(run, "retire", words);
    const days = words.grace === 1 ? "1 day" : `${words.grace} days`;
    await sink.confirm(
      `Archive nova_bm of ${bm.shown} in ${run.path}? Its tables may be dropped ${days} later.`,
    );
    const { plan, seal } = await openToVerify(words);
    const source = { ...(await identify(bm)), schema_version: (await readSchema(bm)).version };
    const header: ArchiveHeader = {
      ...{ format: "nova2ironic/archive@1", tool: VERSION, taken_at: new Date().toISOString() },
      ...{ source, made_from: { snapshot: plan.header.made_from.snapshot }, key: plan.header.key },
      ...{ charset: await charsetOfTables(bm), tables: await describeTables(bm) },
    };
    const { sha256, tables } = await sink.during(
      "archive",
      undefined,
      (progress) => writeArchive(run, bm, header, seal, progress),
      (made) => `${rowsIn(made.tables)} rows`,
    );
    await sink.during(
      "restore it once",
      undefined,
      () => proveArchive(run, bm, seal),
      () => "it restores to the same rows",
    );
    const rows = rowsIn(tables);
    const { grace } = words;
    await recorded(run, source, { do: "archive", sha256, rows, grace });
    return { path: `${run.path}/${ARCHIVE}`, sha256, rows, tables: header.tables.length };
  });
}

/** Every condition of an archive, whether it holds or not; nothing is written. */
export function previewArchive(words: RetireWords, sink: Sink): Promise<void> {
  return withSource(words, async (run, bm) => {
    const gates = await archiveGates(run, bm, verifying(words), sink);
    await sink.list("gates", each(gates));
  });
}

export async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

/** @throws MigrationError N2I-E340 with all that does not hold */
export function checkGates(gates: readonly Gate[]): void {
  const shut = gates.flatMap(({ gate, why }) => (why === null ? [] : [`${gate}: no, ${why}`]));
  if (shut.length > 0) throw new MigrationError("N2I-E340", shut.join("; "));
}

function withSource<T>(
  words: RetireWords,
  work: (run: RunFolder, bm: Database) => Promise<T>,
): Promise<T> {
  return inRun(words.run, "retire", { create: false }, async (run) => {
    await checkNotRetired(run, "there is nothing left to archive");
    return closing(async (keep) =>
      work(run, keep(await openRole("nova-bm-db", words.novaBmDb, { readOnly: true }))),
    );
  });
}

type Recorded =
  | Omit<Extract<RetireEntry, { readonly do: "archive" }>, "at" | "by">
  | Omit<Extract<RetireEntry, { readonly do: "restored" }>, "at" | "by">;

/** One entry of the journal; no window has to be open for it. */
async function recorded(run: RunFolder, place: ServerIdentity, entry: Recorded): Promise<void> {
  const work = async ({ begin, journal, now, by }: RunSession): Promise<void> => {
    await begin(entry.do === "archive" ? NOVA_BM : `${NOVA_BM}-restored`, place);
    await journal.append({ ...entry, at: now(), by });
  };
  await withSession(run, work, { afterWindow: true });
}

function verifying(words: RetireWords): VerifyAsked {
  return { ...words, allRows: false, final: false };
}

function rowsIn(tables: { readonly [table: string]: RowsDigest }): number {
  return Object.values(tables).reduce((sum, { rows }) => sum + rows, 0);
}

/** What a restore is given. */
interface RestoreWords {
  readonly run: string;
  readonly restore: string;
  readonly keyFile?: string;
}

/**
 * Restores the archive of a run into an empty database. Where nova_bm is dropped, or half dropped, the run
 * may be taken back again.
 *
 * @throws MigrationError N2I-E342, N2I-E343
 */
export function restoreNovaBm(words: RestoreWords, sink: Sink): Promise<void> {
  return inRun(words.run, "retire", { create: false }, (run) =>
    closing(async (keep) => {
      const { plan: _, seal } = await openToVerify(words);
      const database = keep(await openRole("restore", words.restore, { readOnly: false }));
      await sink.confirm(`Restore nova_bm from ${run.path}/${ARCHIVE} into ${database.shown}?`);
      const { tables } = await sink.during(
        "restore",
        undefined,
        () => restoreArchive(run, database, seal),
        ({ tables }) => `${tables.length} tables`,
      );
      const { entries } = await readJournal(run);
      if (retirementOf(entries).begun.size > 0)
        await recorded(run, await identify(database), { do: "restored", to: database.shown });
      sink.result(
        `Restored ${tables.length} tables of nova_bm into ${database.shown}; they hold what the archive holds.`,
      );
    }),
  );
}
