import { onceLoaded, slowDelete } from "../core/plan/delete-cost.ts";
import { digestOfAll } from "../edge/copy/fill.ts";
import { bytesOf } from "../edge/copy/place.ts";
import { type Database, openDatabase } from "../edge/database/open.ts";
import { countRows } from "../edge/database/rows.ts";
import { findInnerRun, makeInnerRun } from "../edge/disk/inner-run.ts";
import { readJournal } from "../edge/disk/journal.ts";
import { type RunFolder, writeNote } from "../edge/disk/run-folder.ts";
import { scannedKeys } from "../edge/ironic-db/indexes.ts";
import type { PlanCounts, TargetIdentity } from "../model/artefact.ts";
import { MigrationError } from "../model/error.ts";
import type { Json } from "../model/json.ts";
import type { Rehearsal } from "../model/rehearsal.ts";
import type { ApplyWords } from "./apply.ts";
import { type Backend, databaseBackend } from "./backend.ts";
import { closing, openRole } from "./databases.ts";
import { loadMappings, type Mappings } from "./documents.ts";
import { checkEngine, checkIdentity } from "./ironic-place.ts";
import { plansThere } from "./loaded-plans.ts";
import { nextCommand } from "./next.ts";
import { loadable, nothingLoads } from "./nothing.ts";
import { novaSteps } from "./nova-side.ts";
import { patience } from "./patience.ts";
import { type CopyPlace, makeCopy, mebibytes, placeOf } from "./rehearsal-copy.ts";
import { REHEARSAL, REHEARSED } from "./rehearsal-file.ts";
import { type RemovedCopy, removeCopies } from "./rehearsal-removal.ts";
import { DONE, type Gone, goTheWay } from "./rehearsal-way.ts";
import { checkNotRetired } from "./retired.ts";
import { inRun, openPlan, PLAN, sealOf } from "./run.ts";
import type { Sink } from "./sink.ts";
import { surroundings } from "./surroundings.ts";
import { VERSION, whoami } from "./version.ts";

/** What a rehearsal is given. */
export interface RehearseWords
  extends Pick<
    ApplyWords,
    "run" | "ironicDb" | "skipBlocked" | "staged" | "powerMaxAge" | "keyFile"
  > {
  /** An empty database for the copy. */
  readonly into?: string;
}

/**
 * Goes the plan's whole way on a copy of Ironic's database: apply, verify, rollback, apply, verify. The target is
 * read and nothing else; the copy is gone afterwards.
 *
 * @returns null when it was stopped on request
 * @throws MigrationError N2I-E300 for another target than the plan's, N2I-E350, N2I-E351, N2I-E352
 */
export function rehearse(words: RehearseWords, sink: Sink): Promise<Rehearsal | null> {
  return withTarget(words, async (run, source) => {
    await checkNotRetired(run, "there is nothing left to load");
    if (plansThere((await readJournal(run)).entries).length > 0)
      throw new MigrationError("N2I-E352", "what this run loaded is in Ironic already");
    const plan = await openPlan(`${run.path}/${PLAN}`);
    const { header, footer } = plan;
    if (loadable(footer.footer) === 0) throw nothingLoads(footer.footer, "N2I-E325");
    const seal = await sealOf(run, words.keyFile, header.key);
    const mappings = await loadMappings();
    const target = databaseBackend(source, mappings);
    checkEngine(header.target, target);
    checkIdentity(header.target, (await target.open(header.target.release, seal)).identity);
    await removeLast(run, source, sink);
    const place = await placeOf(source, words.into);
    const machines = loadable(footer.footer);
    const slow = await slowOn(source, footer.footer);
    const size = `${mebibytes(await bytesOf(source))}, ${await countRows(source, "nodes")} nodes`;
    await sink.confirm(
      `Copy ${source.shown} (${size}) into ${place.address.shown}, and rehearse the load of ${machines} machines there?`,
    );
    const inner = await makeInnerRun(run, REHEARSAL);
    const interrupt = surroundings().onInterrupt();
    try {
      const made = { run, inner, source, place, words, mappings, machines, planned: header.target };
      const { found, left } = await onCopy(made, sink, interrupt.signal);
      if (found === null || interrupt.stopping()) {
        if (left !== null) throw left;
        return null;
      }
      const { gone, copy } = found;
      const rehearsal: Rehearsal = {
        ...{ format: "nova2ironic/rehearsal@1", tool: VERSION, at: new Date().toISOString() },
        ...{ by: whoami(), plan: footer.sha256, target: source.shown, ...copy },
        ...{
          stages: gone.stages,
          refusals: gone.refusals,
          nova_rows: await novaSteps(run, footer),
        },
        ...{ as_before: gone.asBefore, loaded: gone.loaded, held: heldOf(gone) },
        ...{ slow, copy_left: left !== null },
      };
      await writeNote(run, REHEARSED, rehearsal as unknown as Json); // texts, numbers and lists of them
      return rehearsal;
    } finally {
      interrupt.end();
    }
  });
}

/** Why the target's own rollback takes longer than the copy's, whose tables are ours. */
async function slowOn(source: Database, { nodes, ports }: PlanCounts): Promise<string | null> {
  const slow = slowDelete(nodes, onceLoaded(await scannedKeys(source), ports));
  return slow === null ? null : `${slow.what} With an index it takes seconds: ${slow.fix}`;
}

/** Only takes away what a rehearsal left that was killed, however far the run came since. */
export function undoRehearsal(words: RehearseWords, sink: Sink): Promise<void> {
  return withTarget(words, async (run, source) => {
    if (!(await removeLast(run, source, sink)))
      sink.result("No rehearsal of this run left a copy; nothing is done.");
  });
}

function withTarget<T>(
  { run: path, ironicDb }: RehearseWords,
  work: (run: RunFolder, source: Database) => Promise<T>,
): Promise<T> {
  return inRun(path, "rehearse", { create: false }, async (run) => {
    if (ironicDb === undefined)
      throw new MigrationError(
        "N2I-E352",
        "only a database can be copied, and no --ironic-db is given",
      );
    return closing(async (keep) =>
      work(run, keep(await openRole("ironic-db", ironicDb, { readOnly: true }))),
    );
  });
}

/** @returns whether there was a copy */
async function removeLast(run: RunFolder, source: Database, sink: Sink): Promise<boolean> {
  const last = await findInnerRun(run, REHEARSAL);
  const removed = last === null ? [] : await removeCopies(last, source);
  for (const { shown } of removed)
    sink.result(`Removed ${shown}, which an earlier rehearsal left.`);
  tellOthers(removed, sink);
  return removed.length > 0;
}

function tellOthers(removed: readonly RemovedCopy[], { note }: Sink): void {
  for (const { shown, others } of removed)
    if (others.length > 0)
      note(`${shown} still holds what this run did not make: ${others.join(", ")}.`);
}

interface Made {
  readonly run: RunFolder;
  readonly inner: RunFolder;
  readonly source: Database;
  readonly place: CopyPlace;
  readonly words: RehearseWords;
  readonly mappings: Mappings;
  readonly machines: number;
  readonly planned: TargetIdentity;
}

interface Found {
  readonly gone: Gone;
  readonly copy: Pick<Rehearsal, "copy" | "without">;
}

/** What was found is known, and what failed first is told, whatever becomes of the copy. */
async function onCopy(
  made: Made,
  sink: Sink,
  signal: AbortSignal,
): Promise<{ readonly found: Found | null; readonly left: MigrationError | null }> {
  const went = await filled(made, sink, signal).then(
    (found) => ({ found }),
    (cause: unknown) => ({ cause }),
  );
  const left = await leftOf(made, sink);
  if ("cause" in went) throw went.cause;
  return { found: went.found, left };
}

/** Removes the copy. @returns why it stays; null where it is gone */
async function leftOf(
  { inner, source, place, words }: Made,
  sink: Sink,
): Promise<MigrationError | null> {
  try {
    tellOthers(await removeCopies(inner, source), sink);
    return null;
  } catch (cause) {
    if (!(cause instanceof MigrationError)) throw cause;
    const undo = nextCommand("rehearse", words, { undo: true });
    const { shown } = place.address;
    sink.note(`The copy ${shown} stays: ${cause.code} ${cause.message}. Remove it with: ${undo}`);
    return new MigrationError(cause.code, cause.message, { cause, fix: `Remove it with: ${undo}` });
  }
}

/** @returns null when it was stopped on request */
async function filled(made: Made, sink: Sink, signal: AbortSignal): Promise<Found | null> {
  const { inner, source, place } = made;
  const gone: Gone = { stages: [], refusals: [], loaded: null, asBefore: null, allowed: {} };
  const began = Date.now();
  const copied = await sink.during(
    "rehearse: copy",
    undefined,
    (progress) => makeCopy(inner, source, place, signal, progress),
    (copy) => (copy === null ? "stopped" : `${copy.rows} rows, ${copy.how}`),
  );
  if (copied === null) return null;
  const { how, without, rows } = copied;
  const seconds = (Date.now() - began) / 1000;
  gone.stages.push({ stage: "copy", seconds, machines: 0, rows, rate: null, result: DONE });
  const went = await goTheWay(jobOf(made, sink), gone);
  return went ? { gone, copy: { copy: how, without } } : null;
}

function jobOf({ inner, place, words, mappings, machines, planned }: Made, sink: Sink) {
  const { ironicDb, skipBlocked, staged, powerMaxAge, keyFile } = words;
  const opened = (readOnly: boolean): Promise<Database> =>
    openDatabase(place.address, { readOnly, patience: patience() });
  return {
    ...{ inner, machines, sink },
    words: {
      skipBlocked,
      staged,
      powerMaxAge,
      ...(ironicDb && { ironicDb }),
      ...(keyFile && { keyFile }),
    },
    open: async (_: object, __: Mappings, access: { readonly readOnly: boolean }) =>
      standIn(databaseBackend(await opened(access.readOnly), mappings), planned),
    digest: () => closing(async (keep) => digestOfAll(keep(await opened(true)))),
  };
}

/**
 * The copy as the target whose place it takes: it is at another address, and every other thing that a plan wants
 * of its target is asked of the copy itself.
 */
function standIn(backend: Backend, planned: TargetIdentity): Backend {
  const { address, database, server } = planned;
  const at = (found: TargetIdentity): TargetIdentity => ({ ...found, address, database, server });
  return {
    ...backend,
    async open(...how) {
      const opened = await backend.open(...how);
      return { ...opened, identity: at(opened.identity) };
    },
    identify: async (said) => at(await backend.identify(said)),
  };
}

function heldOf({ stages, refusals, asBefore }: Gone): boolean {
  return (
    refusals.length === 0 && asBefore === true && stages.every(({ result }) => result === DONE)
  );
}
