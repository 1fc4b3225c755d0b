import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Begun, begunIn } from "../engine/begun.ts";
import { MigrationError, orNull } from "../lib/error.ts";
import { MANAGE } from "../model/ironic/manage.ts";
import { type Entries, targetOf } from "../model/journal.ts";
import { readJournal } from "../run/files/journal.ts";
import { openManifest, PLAN } from "../run/files/plan-folder.ts";
import { openRun, type RunFolder } from "../run/files/run-folder.ts";
import { nextCommand } from "../run/next.ts";
import { actsOf, isHanded, type ManageChange } from "./steps/manage-acts.ts";

/** Whether a run gives machines their server record, by its journal. */
export async function managesNodes(run: Pick<RunFolder, "path">): Promise<boolean> {
  const journal = await journalOf(run);
  return journal !== null && isOfManaging(journal.entries);
}

/**
 * A run's journal, to know its kind; null where it cannot be read, and the run's other files tell the kind.
 *
 * @throws MigrationError N2I-E112 where nothing but a journal that is gone or edited could tell it
 */
export async function journalOf({ path }: Pick<RunFolder, "path">) {
  try {
    return await readJournal({ path });
  } catch (cause) {
    const isLost = cause instanceof MigrationError && cause.code === "N2I-E112";
    if (!(cause instanceof MigrationError) || (isLost && !existsSync(join(path, "snapshot.jsonl"))))
      throw cause;
    return null;
  }
}

function isOfManaging(entries: Entries): boolean {
  return targetOf(entries, MANAGE) !== undefined;
}

/** @throws MigrationError N2I-E315 for a run that carries machines over, or moves them */
export async function checkManages(run: RunFolder, entries: Entries): Promise<void> {
  const plan = await orNull(openManifest(`${run.path}/${PLAN}`), "N2I-E110");
  if (plan === null && (entries.length === 0 || isOfManaging(entries))) return;
  throw new MigrationError("N2I-E315", `${run.path} has a plan of its own`, {
    fix: "Give node manage a --run of its own.",
  });
}

/** Machines that a run began to manage and has not taken back since, by uuid. */
export function managedIn(entries: Entries): ReadonlyMap<
  string,
  {
    readonly change: ManageChange;
    readonly name: string;
    readonly open: boolean;
    /** Its user may have its server, and its mark is on it still: no way back was begun. */
    readonly handedOut: boolean;
  }
> {
  const begun = begunIn(entries, MANAGE);
  return new Map(
    [...begun].map(([id, one]) => {
      const known = changeBack(id, one);
      const handedOut = isHanded(known.change) && one.back !== true;
      return [id, { ...known, open: one.open, handedOut }];
    }),
  );
}

/** A machine as its way back needs it. */
export function changeBack(
  id: string,
  begun: Begun,
): { readonly change: ManageChange; readonly name: string } {
  const { server, name, acts } = actsOf(id, begun);
  const back = begun.back === true && { back: true as const };
  return { change: { id, server, acts, asked: null, open: begun.open, ...back }, name };
}

/** A run of this kind, with what its journal says. @throws MigrationError N2I-E110 to N2I-E113 */
export async function openManaged(path: string) {
  const run = await openRun(path, { create: false });
  const { entries } = await readJournal(run);
  return { run, entries, managed: managedIn(entries) };
}

/** What is true of a run that gives machines their record, by its files alone, and what comes next. */
export async function managedState(path: string) {
  const { run, entries, managed } = await openManaged(path);
  const all = [...managed.values()];
  const open = all.filter((one) => one.open).length;
  const opened = all.filter((one) => one.open && !one.handedOut).map(({ change: { id } }) => id);
  const began = new Set(begunIds(entries)).size;
  const given = { run: run.path };
  const target = targetOf(entries, MANAGE);
  return {
    fields: {
      ironic: target === undefined ? "" : String(target.target.address),
      managed: `${all.length - open} machines have their server record by this run`,
      open: `${open} begun and not at their end`,
      back: `${began - all.length} taken back`,
    },
    next:
      all.length === 0
        ? "nothing; what this run managed was taken back"
        : nextOf(given, opened, all.length),
    changed: all.length,
  };
}

/** Machines that a command names at most; verify lists them all. */
const NAMED = 5;

/** What takes back those that are not at their end, and no other. */
function nextOf(given: { readonly run: string }, open: readonly string[], all: number): string {
  if (open.length === 0 || (open.length > NAMED && open.length < all))
    return nextCommand("verify", given);
  return nextCommand("rollback", given, open.length === all ? { all: true } : { node: open });
}

function begunIds(entries: Entries): readonly string[] {
  const parts = begunIn(
    entries.filter(({ do: act }) => act === "start"),
    MANAGE,
  );
  return [...parts.keys()];
}
