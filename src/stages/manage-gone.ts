import { readRunning } from "../edge/ironic-rest/running.ts";
import type { WindowSession } from "../engine/window.ts";
import { MigrationError } from "../model/error.ts";
import type { Entries } from "../model/journal.ts";
import { MANAGE } from "../model/manage.ts";
import { type Act, bindsOf, isDeleted } from "../parts/manage-acts.ts";
import type { ManagePlace } from "./manage-place.ts";
import { managedIn } from "./manage-run.ts";
import { networkOf } from "./record-keeper.ts";

/** What was deleted since, by the operator's word: no answer of a service proves it. */
export interface GoneWords {
  /** Ids of Neutron's ports. */
  readonly portDeleted?: readonly string[];
  /** Uuids of nodes. */
  readonly nodeDeleted?: readonly string[];
}

type Word = "gone" | "deleted" | "shown";

/** What is to be journalled of a machine. */
type SaidGone<Step extends Word = Word> = readonly [
  id: string,
  act: Extract<Act, { readonly step: Step }>,
];

type Managed = ReturnType<typeof managedIn>;

/** What was deleted by the operator's word, and is not in the journal yet. @throws MigrationError N2I-E100 */
export async function saidGone(
  words: GoneWords,
  entries: Entries,
  wanted: ReadonlySet<string>,
  place: ManagePlace,
): Promise<readonly SaidGone[]> {
  const managed = managedIn(entries);
  // What was said of a machine that was taken back since may be said again: the same command goes on.
  const { portDeleted = [], nodeDeleted = [] } = words;
  const since = {
    portDeleted: portDeleted.filter((port) => !isOver(entries, managed, "gone", port)),
    nodeDeleted: nodeDeleted.filter((id) => !isOver(entries, managed, "deleted", id)),
  };
  const nodes = await deletedOf(since, managed, wanted, place);
  const shown = await shownOf(managed, wanted, place);
  return [...(await goneOf(since, managed, wanted, place)), ...nodes, ...shown];
}

/** Whether it was said of machines that were all taken back since. */
function isOver(
  entries: Entries,
  managed: Managed,
  word: "gone" | "deleted",
  given: string,
): boolean {
  const what = given.toLowerCase();
  const of: string[] = [];
  for (const entry of entries)
    if (entry.do === "start" && entry.part === MANAGE && entry.observed?.step === word)
      if ((word === "gone" ? entry.observed.port : entry.id) === what) of.push(entry.id);
  return of.length > 0 && of.every((id) => !managed.has(id));
}

/** Nodes that were said to be deleted, and that Ironic shows: a login that does not see them must not end their way back. */
async function shownOf(
  managed: Managed,
  wanted: ReadonlySet<string>,
  { service }: ManagePlace,
): Promise<readonly SaidGone<"shown">[]> {
  const shown: SaidGone<"shown">[] = [];
  for (const [id, { change }] of managed)
    if (wanted.has(id) && isDeleted(change) && (await readRunning(service, id, [])) !== null)
      shown.push([id, { step: "shown" }]);
  return shown;
}

/** Writes it down. What came to its end stays at its end: what its user made of its ports since is his. */
export async function keepGone(
  { now, by, journal }: Pick<WindowSession, "now" | "by" | "journal">,
  gone: readonly SaidGone[],
): Promise<void> {
  const managed = managedIn(journal.entries());
  for (const [id, act] of gone) {
    const about = { part: MANAGE, id };
    await journal.append({ do: "start", ...about, at: now(), by, observed: { ...act } });
    if (managed.get(id)?.open === false) await journal.append({ do: "end", ...about, at: now() });
  }
}

/**
 * Nodes that were deleted, by the operator's word: a login that does not see a node is answered as if there were none.
 *
 * @throws MigrationError N2I-E100 for a node that is not to be taken back, or that Ironic shows
 */
async function deletedOf(
  { nodeDeleted = [] }: GoneWords,
  managed: Managed,
  wanted: ReadonlySet<string>,
  { service }: ManagePlace,
): Promise<readonly SaidGone<"deleted">[]> {
  const deleted: SaidGone<"deleted">[] = [];
  for (const id of new Set(nodeDeleted.map((one) => one.toLowerCase()))) {
    const known = wanted.has(id) ? managed.get(id) : undefined;
    if (known === undefined)
      throw new MigrationError("N2I-E100", `--node-deleted: no machine named here is node ${id}`, {
        fix: "Use the UUID shown by rollback or verify.",
      });
    if ((await readRunning(service, id, [])) !== null)
      throw new MigrationError("N2I-E100", `--node-deleted: Ironic has node ${id}`, {
        fix: "Leave the option out: its machine is taken back.",
      });
    if (!isDeleted(known.change)) deleted.push([id, { step: "deleted" }]);
  }
  return deleted;
}

/**
 * Ports that were deleted, by the operator's word, each with its node: a login that does not see a port is answered
 * as if there were none, and so is an address that is not Neutron's.
 *
 * @throws MigrationError N2I-E100 for a port that is not to be given back, or that Neutron shows, N2I-E202
 */
async function goneOf(
  { portDeleted = [] }: GoneWords,
  managed: Managed,
  wanted: ReadonlySet<string>,
  { network }: ManagePlace,
): Promise<readonly SaidGone<"gone">[]> {
  const gone: SaidGone<"gone">[] = [];
  for (const port of new Set(portDeleted.map((one) => one.toLowerCase()))) {
    const named = [...managed].filter(([id]) => wanted.has(id));
    const isSaid = named.some(([, { change }]) =>
      change.acts.some((act) => act.step === "gone" && act.port === port),
    );
    const ids = named.flatMap(([id, { change }]) =>
      bindsOf(change).some((bind) => bind.port === port) ? [id] : [],
    );
    if (ids.length === 0 && isSaid) continue;
    if (ids.length === 0)
      throw new MigrationError(
        "N2I-E100",
        `--port-deleted: no machine named here uses port ${port}`,
        {
          fix: "Use the id shown by rollback or verify.",
        },
      );
    const neutron = await networkOf({ network })();
    const isListed = (await neutron.ports(new Set([port]))).has(port);
    if (isListed || (await neutron.whole(port)) !== null)
      throw new MigrationError("N2I-E100", `--port-deleted: Neutron has port ${port}`, {
        fix: "Leave the option out: rollback gives the port back or says who has it.",
      });
    gone.push(...ids.map((id) => [id, { step: "gone", port }] as const));
  }
  return gone;
}
