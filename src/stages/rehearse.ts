import { onceLoaded, slowDelete } from "../core/plan/delete-cost.ts";
import { bytesOf } from "../edge/copy/place.ts";
import type { Database } from "../edge/database/open.ts";
import { countRows } from "../edge/database/rows.ts";
import { findInnerRun, makeInnerRun } from "../edge/disk/inner-run.ts";
import { readJournal } from "../edge/disk/journal.ts";
import { type RunFolder, writeNote } from "../edge/disk/run-folder.ts";
import { scannedKeys } from "../edge/ironic-db/indexes.ts";
import type { PlanCounts } from "../model/artefact.ts";
import { MigrationError } from "../model/error.ts";
import type { Json } from "../model/json.ts";
import type { Rehearsal } from "../model/rehearsal.ts";
import type { ApplyWords } from "./apply.ts";
import { databaseBackend } from "./backend.ts";
import { closing, openRole } from "./databases.ts";
import { loadMappings } from "./documents.ts";
import { checkEngine, checkIdentity } from "./ironic-place.ts";
import { plansThere } from "./loaded-plans.ts";
import { nextCommand } from "./next.ts";
import { loadable, nothingLoads } from "./nothing.ts";
import { novaPlanOf } from "./nova-files.ts";
import { filled, type Rehearsed, type Rehearsing } from "./rehearsal-copies.ts";
import { type CopyPlace, type CopySource, INTO, mebibytes, placeOf } from "./rehearsal-copy.ts";
import { copiesIn, REHEARSAL, REHEARSED } from "./rehearsal-file.ts";
import { COPIED, novaPlaces, novaRehearsed } from "./rehearsal-nova.ts";
import { type RemovedCopy, removeCopies } from "./rehearsal-removal.ts";
import { DONE, type Gone } from "./rehearsal-way.ts";
import { checkNotRetired } from "./retired.ts";
import { inRun, openPlan, PLAN, sealOf } from "./run.ts";
import type { Sink } from "./sink.ts";
import { surroundings } from "./surroundings.ts";
import { VERSION, whoami } from "./version.ts";

/** What a rehearsal is given. */
export interface RehearseWords
  extends Pick<
    ApplyWords,
    | ("run" | "ironicDb" | "novaDb" | "novaApiDb")
    | ("skipBlocked" | "staged" | "powerMaxAge" | "keyFile")
  > {
  /** An empty database for the copy of Ironic's. */
  readonly into?: string;
  /** The same for those of Nova's. */
  readonly novaInto?: string;
  readonly novaApiInto?: string;
}

/**
 * Goes the plan's whole way on copies of Ironic's database and Nova's: apply, verify, rollback, apply, verify. The
 * targets are read and nothing else; the copies are gone afterwards.
 *
 * @returns null when it was stopped on request
 * @throws MigrationError N2I-E300 for another target than the plan's, N2I-E350, N2I-E351, N2I-E352
 */
export function rehearse(words: RehearseWords, sink: Sink): Promise<Rehearsal | null> {
  checkInto(words);
  return withTargets(words, async (run, sources, ironic) => {
    await checkNotRetired(run, "there is nothing left to load");
    if (plansThere((await readJournal(run)).entries).length > 0)
      throw new MigrationError("N2I-E352", "what this run loaded is in Ironic already");
    const plan = await openPlan(`${run.path}/${PLAN}`);
    const { header, footer } = plan;
    if (loadable(footer.footer) === 0) throw nothingLoads(footer.footer, "N2I-E325");
    const seal = await sealOf(run, words.keyFile, header.key);
    const target = databaseBackend(ironic.source, await loadMappings());
    checkEngine(header.target, target);
    checkIdentity(header.target, (await target.open(header.target.release, seal)).identity);
    await removeLast(run, sources, sink);
    const place = await placeOf(ironic);
    const files = await novaPlanOf(run, footer);
    const nova = await novaPlaces(files, sources, place);
    tellUnused(words, nova.places, sink);
    const machines = loadable(footer.footer);
    const slow = await slowOn(ironic.source, footer.footer);
    await sink.confirm(
      `Copy ${await listedWith([place, ...nova.places])}, and rehearse the load of ${machines} machines there?`,
    );
    const inner = await makeInnerRun(run, REHEARSAL);
    const interrupt = surroundings().onInterrupt();
    try {
      const made = { inner, place, nova, words, machines };
      const { found, left } = await onCopies(made, sources, sink, interrupt.signal);
      if (found === null || interrupt.stopping()) {
        if (left !== null) throw left;
        return null;
      }
      const { gone, places, why, copy } = found;
      const rehearsal: Rehearsal = {
        ...{ format: "nova2ironic/rehearsal@1", tool: VERSION, at: new Date().toISOString() },
        ...{ by: whoami(), plan: footer.sha256, target: ironic.source.shown, ...copy },
        ...{ stages: gone.stages, refusals: gone.refusals },
        nova: novaRehearsed(files, places, why),
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

/** What is copied where, with its size. */
async function listedWith(places: readonly CopyPlace[]): Promise<string> {
  const all: string[] = [];
  for (const { role, source, only, address } of places) {
    const size = mebibytes(await bytesOf(source, only));
    const part = source.engine === "sqlite" ? "whole" : "in part";
    const what = role === "ironic-db" ? `${await countRows(source, "nodes")} nodes` : part;
    all.push(`${source.shown} (${size}, ${what}) into ${address.shown}`);
  }
  return all.join(", ");
}

/** Why the target's own rollback takes longer than the copy's, whose tables are ours. */
async function slowOn(source: Database, { nodes, ports }: PlanCounts): Promise<string | null> {
  const slow = slowDelete(nodes, onceLoaded(await scannedKeys(source), ports));
  return slow === null ? null : `${slow.what} With an index it takes seconds: ${slow.fix}`;
}

/** Only takes away what a rehearsal left that was killed, however far the run came since. */
export function undoRehearsal(words: RehearseWords, sink: Sink): Promise<void> {
  return withTargets(words, async (run, sources) => {
    if (!(await removeLast(run, sources, sink)))
      sink.result("No rehearsal of this run left a copy; nothing is done.");
  });
}

/** @throws MigrationError N2I-E100 for an empty database without one that is copied into it */
function checkInto({ novaDb, novaApiDb, novaInto, novaApiInto }: RehearseWords): void {
  const needs = (empty: string, of: string) =>
    new MigrationError("N2I-E100", `${empty} needs ${of}`);
  if (novaInto !== undefined && novaDb === undefined) throw needs("--nova-into", "--nova-db");
  if (novaApiInto !== undefined && novaApiDb === undefined)
    throw needs("--nova-api-into", "--nova-api-db");
}

/** An empty database was given for what is not copied. */
function tellUnused(
  { novaInto, novaApiInto }: RehearseWords,
  places: readonly CopyPlace[],
  { note }: Sink,
): void {
  const given = { "nova-db": novaInto, "nova-api-db": novaApiInto } as const;
  for (const role of ["nova-db", "nova-api-db"] as const)
    if (given[role] !== undefined && !places.some((place) => place.role === role))
      note(`${INTO[role].option} stays empty: nothing of --${role} is copied.`);
}

/** @param work gets all that may be copied, and Ironic's database of it */
function withTargets<T>(
  { run: path, ironicDb, novaDb, novaApiDb, ...empty }: RehearseWords,
  work: (run: RunFolder, sources: readonly CopySource[], ironic: CopySource) => Promise<T>,
): Promise<T> {
  return inRun(path, "rehearse", { create: false }, async (run) => {
    if (ironicDb === undefined)
      throw new MigrationError(
        "N2I-E352",
        "only a database can be copied, and no --ironic-db is given",
      );
    return closing(async (keep) => {
      const open = async (
        role: CopySource["role"],
        spec: string,
        into: string | undefined,
      ): Promise<CopySource> => {
        const source = keep(await openRole(role, spec, { readOnly: true }));
        const only = role !== "ironic-db" && { only: COPIED[role] };
        return { role, source, ...only, ...(into !== undefined && { into }) };
      };
      const ironic = await open("ironic-db", ironicDb, empty.into);
      const sources = [ironic];
      if (novaDb !== undefined) sources.push(await open("nova-db", novaDb, empty.novaInto));
      if (novaApiDb !== undefined)
        sources.push(await open("nova-api-db", novaApiDb, empty.novaApiInto));
      return work(run, sources, ironic);
    });
  });
}

/** @returns whether there was a copy */
async function removeLast(
  run: RunFolder,
  sources: readonly CopySource[],
  sink: Sink,
): Promise<boolean> {
  const last = await findInnerRun(run, REHEARSAL);
  const removed = last === null ? [] : await removeCopies(last, sources);
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

/** What was found is known, and what failed first is told, whatever becomes of the copies. */
async function onCopies(
  made: Rehearsing,
  sources: readonly CopySource[],
  sink: Sink,
  signal: AbortSignal,
): Promise<{ readonly found: Rehearsed | null; readonly left: MigrationError | null }> {
  const went = await filled(made, sink, signal).then(
    (found) => ({ found }),
    (cause: unknown) => ({ cause }),
  );
  const left = await leftOf(made, sources, sink);
  if ("cause" in went) throw went.cause;
  return { found: went.found, left };
}

/** Removes the copies. @returns why one stays; null where all are gone */
async function leftOf(
  { inner, words }: Rehearsing,
  sources: readonly CopySource[],
  sink: Sink,
): Promise<MigrationError | null> {
  try {
    tellOthers(await removeCopies(inner, sources), sink);
    return null;
  } catch (cause) {
    if (!(cause instanceof MigrationError)) throw cause;
    const undo = nextCommand("rehearse", words, { undo: true });
    const names = await copiesIn(inner);
    const stay = names.length === 1 ? "The copy stays" : "The copies stay";
    const fix = `Remove what is left with: ${undo}`;
    sink.note(`${stay} (${names.join(", ")}): ${cause.code} ${cause.message}. ${fix}`);
    return new MigrationError(cause.code, cause.message, { cause, fix });
  }
}

function heldOf({ stages, refusals, asBefore }: Gone): boolean {
  return (
    refusals.length === 0 && asBefore === true && stages.every(({ result }) => result === DONE)
  );
}
