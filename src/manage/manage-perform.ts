import { isDenied } from "../engine/midway.ts";
import { windowBack, windowForward } from "../engine/window.ts";
import { ONE_BY_ONE, type Pace } from "../engine/window-part.ts";
import { MigrationError } from "../lib/error.ts";
import { once } from "../lib/streams.ts";
import { counted } from "../lib/text.ts";
import type { ManagePlace } from "../migrate/open/services.ts";
import type { KnownNics } from "../model/ironic/adoptable.ts";
import type { ManagedOne } from "../model/ironic/manage.ts";
import type { RunSession } from "../run/session.ts";
import type { Sink } from "../run/sink.ts";
import type { Adapter, Recorded } from "./manage-adapter.ts";
import type { ManageWords } from "./manage-asked.ts";
import { type Notify, named, refused, tellEnds, telling } from "./manage-events.ts";
import { changeBack, managedIn } from "./manage-run.ts";
import type { ManageChange } from "./steps/manage-acts.ts";
import type { ManagePosition } from "./steps/manage-positions.ts";

/**
 * One machine, in a session that has others too; of one that is not managed at the end nothing stays, whatever
 * broke.
 *
 * @returns its row, and what was seen of it last; no row where somebody asked to stop. `stays`: it is not managed,
 *   and could not be taken back whole
 */
export async function manageOne(
  adapter: Adapter,
  change: ManageChange,
  session: RunSession,
  notify: Notify,
): Promise<OneManaged> {
  const during: Sink["during"] = (_title, _machines, work) =>
    work(
      () => undefined,
      () => undefined,
    );
  const acting = { session, sink: { during }, notify };
  const { rows, broke, last, stays } = await perform(
    { adapter, changes: [change], cards: null },
    { inFlight: 1 },
    acting,
  );
  const about = { broke, last: last.get(change.id) ?? null };
  if (broke === null) return { ...about, row: rows[0], stays: stays.size > 0 };
  const back = await takeBack(adapter, (id) => id === change.id, session, ONE_BY_ONE);
  return { ...about, row: rows[0], stays: back.stays.size > 0 };
}

interface OneManaged {
  readonly row: ManagedOne | undefined;
  readonly last: ManagePosition | null;
  readonly broke: MigrationError | null;
  readonly stays: boolean;
}

/**
 * What was begun, came to no end and is not wanted any more: nothing of it stays, or it is told why.
 *
 * @param ended of those that came to their end: which are taken back too
 * @returns of which machines nothing stays; of which something does, and why; which their users may have; what broke it off
 */
export async function takeBack(
  adapter: Adapter,
  wants: (id: string) => boolean,
  session: RunSession,
  pace: Pace,
  ended: (id: string) => boolean = () => false,
): Promise<{
  readonly gone: ReadonlyMap<string, null>;
  readonly stays: ReadonlyMap<string, string>;
  readonly inUse: ReadonlySet<string>;
  readonly broke: MigrationError | null;
}> {
  const part = adapter.back(pace.together, true);
  const changes = (ours: ReadonlyMap<string, Parameters<typeof changeBack>[1]>) =>
    once(
      [...ours].flatMap(([id, begun]) =>
        // One that came to its end is somebody's server, whatever is asked now.
        (begun.open ? wants(id) : ended(id)) ? [changeBack(id, begun).change] : [],
      ),
    );
  const gone = new Map<string, null>();
  const stays = new Map<string, string>();
  const inUse = new Set<string>();
  const others = (why: string): void => {
    for (const [id, { open, handedOut }] of managedIn(session.journal.entries()))
      if (open && wants(id) && !gone.has(id) && !stays.has(id)) {
        stays.set(id, why);
        if (handedOut) inUse.add(id);
      }
  };
  // An allocation is gone in a moment; a server of Nova is waited for, and its machine is held until then.
  const own = adapter.name === "allocation" ? { ...session, stopping: () => false } : session;
  try {
    const leg = { part, command: "node manage", changes, pace };
    const { broke } = await windowBack(leg, own, ({ change, position: { is, why, inService } }) => {
      if (is === "after") gone.set(change.id, null);
      else stays.set(change.id, why.join("; "));
      if (inService === true) inUse.add(change.id);
    });
    if (session.stopping()) others("the command was stopped before");
    return { gone, stays, inUse, broke };
  } catch (cause) {
    if (!(cause instanceof MigrationError)) throw cause;
    others(cause.message);
    return { gone, stays, inUse, broke: cause };
  }
}

export interface Managed {
  readonly rows: readonly ManagedOne[];
  readonly stopped: boolean;
  /** Machines of which something stays though they are not managed, and why. */
  readonly stays: ReadonlyMap<string, string>;
  /** Those of them that their users may have: the same command goes on with them. */
  readonly inUse: ReadonlySet<string>;
  /** Why it ended amid them: to be thrown once the rest is reported. */
  readonly broke: MigrationError | null;
}

export interface Performed extends Managed {
  /** Of each that came to its end, as it was then. */
  readonly last: ReadonlyMap<string, ManagePosition>;
}

interface Acting {
  readonly session: RunSession;
  readonly sink: Pick<Sink, "during">;
  readonly notify: Notify;
}

export async function perform(
  { adapter, changes, cards }: Omit<Looked, "place">,
  { inFlight: most }: Pick<ManageWords, "inFlight">,
  { session, sink, notify }: Acting,
): Promise<Performed> {
  const rows = new Map<string, ManagedOne>();
  // Of each machine amid whose steps something broke, what.
  const broken = new Map<string, string>();
  const isLater = ({ is, seen: { node } }: ManagePosition): boolean =>
    cards !== null && is === "after" && node !== null && adapter.comparesLater(node);
  // Their last word comes once all are compared.
  const held = new Map<string, ManageChange>();
  const part = telling(adapter.there(most, cards), notify, {
    holds(change, reached) {
      const holds = isLater(reached);
      if (holds) held.set(change.id, change);
      return holds;
    },
    broke: ({ id }, why) => broken.set(id, why),
  });
  const pace: Pace = { ...ONE_BY_ONE, together: most, inFlight: most };
  const leg = { part, command: "node manage", pace, changes: () => once(changes) };
  const last = new Map<string, ManagePosition>();
  const madeNow: Recorded[] = [];
  const end = await sink
    .during(
      "node manage",
      changes.length,
      (progress) =>
        windowForward(leg, session, ({ change, position, made, found, behind }) => {
          const { is, why } = position;
          if (found && is === "other") refused(change, why, notify);
          const became = becameOf(position, made);
          rows.set(change.id, rowOf(change, became, recordIn(change, position), why));
          last.set(change.id, position);
          const { node: before } = position.seen;
          if (made && before !== null && isLater(position)) madeNow.push({ change, before });
          progress(behind);
        }),
      ({ made }) => `${counted(made, "machine")} managed`,
    )
    .catch((cause: unknown) => {
      // A login that lacks a right may have had another: what it did is taken back all the same.
      if (cause instanceof MigrationError && isDenied(cause))
        return { stopped: false, broke: cause };
      tellEnds(held, notify);
      throw cause;
    });
  const known = new Map(changes.map((change) => [change.id, change]));
  const denied = end.broke !== null && (isDenied(end.broke) || isDenied(end.broke.cause));
  // What is its user's stays so, whatever the login lacks.
  const ours = denied ? managedIn(session.journal.entries()) : null;
  const unwanted = (id: string): boolean =>
    rows.get(id)?.became === "left" ||
    (ours !== null && known.has(id) && !rows.has(id) && ours.get(id)?.handedOut !== true);
  const { unlike, unasked } = await unlikeOf(adapter, madeNow, most);
  for (const [id, why] of unlike) {
    const change = known.get(id);
    if (change === undefined) continue;
    rows.set(id, rowOf(change, "left", null, why));
    notify({ event: "manage.error", ...named(change), why: why.join("; ") });
    held.delete(id);
  }
  tellEnds(held, notify);
  const back = await takeBack(adapter, unwanted, session, pace, (id) => unlike.has(id));
  for (const [id, why] of broken) {
    const change = known.get(id);
    if (change !== undefined) rows.set(id, rowOf(change, "left", null, [why]));
  }
  for (const [id, why] of [...back.gone, ...back.stays]) {
    const change = known.get(id);
    if (change !== undefined)
      rows.set(id, takenBack(rows.get(id) ?? rowOf(change, "left", null, []), why));
  }
  const broke = end.broke ?? unasked ?? back.broke;
  return { rows: [...rows.values()], stopped: end.stopped, last, ...back, broke };
}

/** What somebody changed of several machines while their records were made. */
async function unlikeOf(
  adapter: Adapter,
  made: readonly Recorded[],
  most: number,
): Promise<{
  readonly unlike: ReadonlyMap<string, readonly string[]>;
  readonly unasked: MigrationError | null;
}> {
  const none = { unlike: new Map<string, readonly string[]>(), unasked: null };
  if (made.length === 0) return none;
  try {
    return { ...none, unlike: await adapter.unlike(made, most) };
  } catch (cause) {
    if (!(cause instanceof MigrationError)) throw cause;
    return { ...none, unasked: cause };
  }
}

/** What became of what was begun is said of the machine itself. @param why something stays; null: nothing does */
function takenBack(row: ManagedOne, why: string | null): ManagedOne {
  const said = why === null ? "taken back, nothing stays" : `not taken back: ${why}`;
  return { ...row, why: [row.why, said].filter((one) => one !== "").join("; ") };
}

function becameOf({ is, inService }: ManagePosition, made: boolean): ManagedOne["became"] {
  if (inService === true) return "in service";
  if (is !== "after") return "left";
  return made ? "managed" : "managed already";
}

/** Uuid of the record that it has. */
export function recordIn(
  { server }: ManageChange,
  position: ManagePosition | undefined,
): string | null {
  const { is, inService, seen } = position ?? {};
  return is === "after" || inService === true ? (seen?.record?.uuid ?? server) : null;
}

export function rowOf(
  { id, asked }: ManageChange,
  became: ManagedOne["became"],
  server: string | null,
  why: readonly string[],
): ManagedOne {
  return { node: id, name: asked?.name ?? "", server, became, why: why.join("; ") };
}

export interface Looked {
  readonly place: ManagePlace;
  readonly adapter: Adapter;
  readonly changes: readonly ManageChange[];
  /** Of all nodes; null: of one machine its MAC alone tells whose a port is. */
  readonly cards: KnownNics | null;
}
