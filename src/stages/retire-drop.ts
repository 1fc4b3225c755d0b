import { basename } from "node:path";
import { DROPPED, finishedGate, type Gate, graceGate, sameGate } from "../core/handover/retire.ts";
import { identify } from "../edge/database/identity.ts";
import type { Database } from "../edge/database/open.ts";
import { lockTarget } from "../edge/database/write.ts";
import { readJournal } from "../edge/disk/journal.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { describeTables } from "../edge/nova-bm/describe.ts";
import { dropTable } from "../edge/nova-bm/restore.ts";
import {
  ARCHIVE,
  type ArchiveHeader,
  isRetired,
  type Retirement,
  retirementOf,
  type StoredTable,
} from "../model/archive.ts";
import { MigrationError } from "../model/error.ts";
import { isLeaseTable, LEASE_TABLES } from "../model/leases.ts";
import { notArchived, openArchive } from "./archive.ts";
import { closing, openRole } from "./databases.ts";
import { endOfRun } from "./finished.ts";
import { plansNova } from "./kept.ts";
import { STOPPED } from "./pipeline.ts";
import { checkGates, each, NOVA_BM } from "./retire.ts";
import { checkSource, placeGates } from "./retire-gates.ts";
import { inRun, sealOf } from "./run.ts";
import { type RunSession, withSession } from "./session.ts";
import type { Sink } from "./sink.ts";

/** What a drop is given. */
interface DropWords {
  readonly run: string;
  readonly novaBmDb: string;
  readonly novaDb?: string;
  readonly keyFile?: string;
}

/** A run with an archive, and the database it was made of. */
interface Job {
  readonly run: RunFolder;
  readonly bm: Database;
  readonly words: DropWords;
  readonly retirement: Retirement;
}

/**
 * Drops the tables of nova_bm that its archive has, once its grace period is over: table by table, the one
 * that names the database last. Killed in between, the same command goes on.
 *
 * @param confirmed asks for the database's name
 * @throws MigrationError N2I-E340 with every condition that does not hold, N2I-E112 for another archive
 */
export function dropNovaBm(
  words: DropWords,
  sink: Sink,
  confirmed: (question: string, name: string) => Promise<void>,
): Promise<void> {
  return withJob(words, { readOnly: false }, async (job) => {
    const { run, bm, retirement } = job;
    if (isRetired(retirement)) {
      sink.result(`nova_bm is dropped already; its archive is ${run.path}/${ARCHIVE}.`);
      return;
    }
    checkGates(await gatesOf(job));
    const { header } = await openArchive(run);
    const tables = ours(header).filter((name) => !retirement.dropped.has(name));
    await confirmed(
      `Drop ${tables.join(", ")} of ${bm.shown}? Rollback ends with them; the archive is ${run.path}/${ARCHIVE}.`,
      nameOf(bm),
    );
    // It may have been asked for long.
    checkGates([sameGate("the archive", await changedIn(job))]);
    if (!(await drop(job, tables))) return sink.say(STOPPED);
    const own = ours(header);
    const others = header.tables.map(({ name }) => name).filter((name) => !own.includes(name));
    const left = others.length === 0 ? "" : `; left, as others made them: ${others.join(", ")}`;
    sink.result(`Dropped ${tables.join(", ")} of ${bm.shown}${left}.`);
  });
}

/** Every condition of a drop, whether it holds or not; nothing is written. */
export function previewDrop(words: DropWords, sink: Sink): Promise<void> {
  return withJob(words, { readOnly: true }, async (job) => {
    if (isRetired(job.retirement)) sink.note("nova_bm is dropped already.");
    else await sink.list("gates", each(await gatesOf(job)));
  });
}

function withJob<T>(
  words: DropWords,
  access: { readonly readOnly: boolean },
  work: (job: Job) => Promise<T>,
): Promise<T> {
  return inRun(words.run, "retire", { create: false }, (run) =>
    closing(async (keep) => {
      const retirement = retirementOf((await readJournal(run)).entries);
      const bm = keep(await openRole("nova-bm-db", words.novaBmDb, access));
      return work({ run, bm, words, retirement });
    }),
  );
}

async function gatesOf(job: Job): Promise<readonly Gate[]> {
  const { run, bm, words, retirement } = job;
  const first = [finishedGate(await endOfRun(run)), graceGate(retirement, Date.now())];
  if (retirement.archive === null) return first;
  const same = sameGate("the archive", await changedIn(job));
  return [...first, same, ...(await placeGates(bm, await plansNova(run.path), words.novaDb))];
}

/**
 * In what nova_bm is not what its archive holds: tables and rows by name. What a drop that was killed took
 * is no difference.
 *
 * @throws MigrationError N2I-E112 when the archive is not the one that the journal names, N2I-E340
 */
async function changedIn({ run, bm, words, retirement }: Job): Promise<readonly string[]> {
  const { header, footer } = await openArchive(run);
  if (footer.sha256 !== retirement.archive?.sha256)
    throw new MigrationError(
      "N2I-E112",
      `${run.path}/${ARCHIVE} is not the archive of the journal`,
      {
        fix: "Put the archive back from a copy; or, before anything is dropped, run retire without --drop.",
      },
    );
  checkSource(header.source, await identify(bm));
  const seal = await sealOf(run, words.keyFile, header.key);
  const there = new Map((await describeTables(bm)).map((table) => [table.name, table]));
  const archived = new Map(header.tables.map((table) => [table.name, table]));
  const added = [...there.keys()].filter((name) => !archived.has(name));
  const wrong = header.tables.flatMap((table) => {
    const now = there.get(table.name);
    if (now === undefined)
      return retirement.begun.has(table.name) ? [] : [`table ${table.name} is gone`];
    return JSON.stringify(now) === JSON.stringify(table) ? [] : [`table ${table.name} was altered`];
  });
  const differ = [...added.map((name) => `table ${name} was added`), ...wrong];
  if (differ.length > 0) return differ;
  const left = header.tables.filter(({ name }) => there.has(name));
  return notArchived(run, bm, left, seal);
}

/** @returns whether it came to its end; not when it was stopped on request */
async function drop({ run, bm, retirement }: Job, tables: readonly string[]): Promise<boolean> {
  const lock = await lockTarget(bm);
  const work = async ({ begin, journal, now, by, stopping }: RunSession): Promise<boolean> => {
    await begin(NOVA_BM, await identify(bm));
    for (const table of tables) {
      if (stopping()) return false;
      await lock.check();
      if (!retirement.begun.has(table)) await journal.append({ do: "drop", table, at: now(), by });
      await dropTable(bm, table);
      await journal.append({ do: "dropped", table, at: now() });
    }
    return true;
  };
  try {
    return await withSession(run, work, { afterWindow: true });
  } finally {
    await lock.release();
  }
}

/** In the order they are dropped. */
function ours({ tables }: ArchiveHeader): readonly string[] {
  const isOurs = ({ name, columns }: StoredTable): boolean =>
    !(name in LEASE_TABLES) ||
    isLeaseTable(
      name,
      columns.map((column) => column.name),
    );
  return DROPPED.filter((name) => tables.some((table) => table.name === name && isOurs(table)));
}

/** What an operator types. */
function nameOf({ address }: Database): string {
  return address.filename === null ? address.database : basename(address.filename);
}
