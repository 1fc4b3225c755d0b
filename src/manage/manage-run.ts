import { type StartedChange, startedChangesIn } from "../engine/started.ts";
import { once } from "../lib/streams.ts";
import { counted } from "../lib/text.ts";
import { MANAGE } from "../model/ironic/manage.ts";
import { type Entries, targetOf } from "../model/journal.ts";
import { readJournal } from "../run/files/journal.ts";
import { openRun } from "../run/files/run-folder.ts";
import { nextCommand } from "../run/next.ts";
import { actsOf, isHanded, type ManageChange } from "./steps/manage-acts.ts";

/** Machines that the run started to manage and has not rolled back, by uuid. */
export function managedIn(entries: Entries) {
  return new Map(
    [...startedChangesIn(entries, MANAGE)].map(([id, started]) => {
      const reversed = changeBack(id, started);
      /** Its server may be in use, its mark is still set, and no rollback was started. */
      const handedOut = isHanded(reversed.change) && started.back !== true;
      return [id, { ...reversed, open: started.open, handedOut }] as const;
    }),
  );
}

function changeBack(id: string, started: StartedChange) {
  const { server, name, acts } = actsOf(id, started);
  const back = started.back === true && { back: true as const };
  const change: ManageChange = { id, server, acts, request: null, open: started.open, ...back };
  return { change, name };
}

/** The changes of a rollback, one batch. @param selects whether to roll back a started machine */
export function changesBack(selects: (id: string, started: StartedChange) => boolean) {
  return (all: ReadonlyMap<string, StartedChange>) =>
    once(
      [...all].flatMap(([id, state]) => (selects(id, state) ? [changeBack(id, state).change] : [])),
    );
}

/** @throws MigrationError N2I-E110 to N2I-E113 */
export async function openManaged(path: string) {
  const run = await openRun(path, { create: false });
  const { entries } = await readJournal(run);
  return { run, entries, managed: managedIn(entries) };
}

export async function managedState(path: string) {
  const { run, entries, managed } = await openManaged(path);
  const all = [...managed.values()];
  const open = all.filter((one) => one.open).length;
  const opened = all.filter((one) => one.open && !one.handedOut).map(({ change: { id } }) => id);
  const starts = entries.filter(({ do: act }) => act === "start");
  const began = startedChangesIn(starts, MANAGE).size;
  const options = { run: run.path };
  const target = targetOf(entries, MANAGE);
  return {
    fields: {
      ironic: target === undefined ? "" : String(target.target.address),
      managed: `${counted(all.length - open, "machine has a server record", "machines have server records")} of this run`,
      open: `${open} unfinished`,
      back: `${began - all.length} rolled back`,
    },
    next:
      all.length === 0 ? "nothing, this run was rolled back" : nextOf(options, opened, all.length),
    changed: all.length,
  };
}

/** Maximum number of machines in a command; verify lists all. */
const MAX_MACHINES = 5;

/** The command that rolls back unfinished machines only. */
function nextOf(options: { readonly run: string }, open: readonly string[], all: number): string {
  if (open.length === 0 || (open.length > MAX_MACHINES && open.length < all))
    return nextCommand("verify", options);
  return nextCommand("rollback", options, open.length === all ? { all: true } : { node: open });
}
