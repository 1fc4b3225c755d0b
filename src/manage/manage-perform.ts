import { isDenied } from "../engine/midway.ts";
import { windowBack, windowForward } from "../engine/window.ts";
import { ONE_BY_ONE, type Pace } from "../engine/window-part.ts";
import { MigrationError } from "../lib/error.ts";
import { once } from "../lib/streams.ts";
import { counted } from "../lib/text.ts";
import type { ManageClients } from "../migrate/open/services.ts";
import type { ExistingNics } from "../model/ironic/adoptable.ts";
import type { ManagedOne } from "../model/ironic/manage.ts";
import type { RunSession } from "../run/session.ts";
import { type Sink, silently } from "../run/sink.ts";
import type { Adapter, Recorded } from "./manage-adapter.ts";
import { changesBack, managedIn } from "./manage-run.ts";
import type { ManagePart } from "./steps/manage.ts";
import type { ManageChange } from "./steps/manage-acts.ts";
import type { ManagePosition } from "./steps/manage-positions.ts";

/**
 * Manages one machine in the shared session of the service, and rolls it back after a failure.
 *
 * @returns its row and last position; no row if the service stops. `stays`: it is not managed, and
 * rollback was incomplete
 */
export async function manageOne(
  adapter: Adapter,
  change: ManageChange,
  session: RunSession,
  notify: Notify,
) {
  const acting = { session, sink: { during: silently }, notify };
  const one = { adapter, changes: [change], cards: null };
  const { rows, broke, last, stays } = await perform(one, 1, acting);
  const isIt = (id: string): boolean => id === change.id;
  const left = broke === null ? stays : (await takeBack(adapter, isIt, session, ONE_BY_ONE)).stays;
  return { broke, last: last.get(change.id) ?? null, row: rows[0], stays: left.size > 0 };
}

/**
 * Rolls back unfinished machines that are not wanted any more.
 *
 * @param ended selects completed machines to roll back
 * @returns the rolled back machines, those with leftovers and the reason, those that may be in use,
 * and the error that ended the rollback
 */
export async function takeBack(
  adapter: Adapter,
  wants: (id: string) => boolean,
  session: RunSession,
  pace: Pace,
  ended: (id: string) => boolean = () => false,
) {
  const part = adapter.back(pace.together, true);
  // The server of a completed machine may be in use.
  const changes = changesBack((id, { open }) => (open ? wants(id) : ended(id)));
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
  // A Nova server needs time, and its machine stays reserved until then.
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

interface Acting {
  readonly session: RunSession;
  readonly sink: Pick<Sink, "during">;
  readonly notify: Notify;
}

export async function perform(
  { adapter, changes, cards }: Omit<InspectedRows, "place">,
  most: number,
  { session, sink, notify }: Acting,
) {
  const rows = new Map<string, ManagedOne>();
  // The error of each machine that failed during its steps.
  const broken = new Map<string, string>();
  const isLater = ({ is, seen: { node } }: ManagePosition): boolean =>
    cards !== null && is === "after" && node !== null && adapter.comparesLater(node);
  // Their end events are sent after the comparison.
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
          const became = managedOutcome(position, made);
          rows.set(change.id, rowOf(change, became, recordIn(change, position), why));
          last.set(change.id, position);
          const { node: before } = position.seen;
          if (made && before !== null && isLater(position)) madeNow.push({ change, before });
          progress(behind);
        }),
      ({ made }) => `${counted(made, "machine")} managed`,
    )
    .catch((cause: unknown) => {
      // Without the permission for a step, earlier steps are still rolled back.
      if (cause instanceof MigrationError && isDenied(cause))
        return { stopped: false, broke: cause };
      reportEnds(held, notify);
      throw cause;
    });
  const known = new Map(changes.map((change) => [change.id, change]));
  const denied = end.broke !== null && (isDenied(end.broke) || isDenied(end.broke.cause));
  // A server in use is kept, even if the login lacks a permission.
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
  reportEnds(held, notify);
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

/** Machines that were changed while their records were created. */
async function unlikeOf(adapter: Adapter, made: readonly Recorded[], most: number) {
  const none = new Map<string, readonly string[]>();
  if (made.length === 0) return { unlike: none, unasked: null };
  try {
    return { unlike: await adapter.unlike(made, most), unasked: null };
  } catch (cause) {
    if (!(cause instanceof MigrationError)) throw cause;
    return { unlike: none, unasked: cause };
  }
}

/** Adds the result of the rollback. @param why the reason of leftovers, or null */
function takenBack(row: ManagedOne, why: string | null): ManagedOne {
  const said = why === null ? "rolled back" : `not rolled back: ${why}`;
  return { ...row, why: [row.why, said].filter((one) => one !== "").join("; ") };
}

function managedOutcome({ is, inService }: ManagePosition, made: boolean): ManagedOne["became"] {
  if (inService === true) return "in service";
  if (is !== "after") return "left";
  return made ? "managed" : "managed already";
}

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

export interface InspectedRows {
  readonly place: ManageClients;
  readonly adapter: Adapter;
  readonly changes: readonly ManageChange[];
  /** Null for a single machine, whose port is identified only by its MAC. */
  readonly cards: ExistingNics | null;
}

/** The events of a machine: `manage.start`, then `manage.end` or `manage.error`. */
export interface ManageEvent {
  readonly event: "manage.start" | "manage.end" | "manage.error";
  readonly node: string;
  readonly name: string;
  /** Null: refused before a uuid was chosen. */
  readonly server: string | null;
  readonly why?: string;
}

export type Notify = (event: ManageEvent) => void;

/** A machine that is refused before its first step also has two events. */
function refused(change: ManageChange, why: readonly string[], notify: Notify): void {
  notify({ event: "manage.start", ...named(change) });
  notify({ event: "manage.error", ...named(change), why: why.join("; ") });
}

function reportEnds(held: ReadonlyMap<string, ManageChange>, notify: Notify): void {
  for (const change of held.values()) notify({ event: "manage.end", ...named(change) });
}

function named({ id, asked, server }: ManageChange): Omit<ManageEvent, "event"> {
  return { node: id, name: asked?.name ?? "", server };
}

/**
 * Wraps the part with the events of each machine.
 *
 * @param holds whether to delay the end event
 * @param broke called for each machine that fails with an exception
 */
function telling(
  part: ManagePart,
  notify: Notify,
  {
    holds,
    broke,
  }: {
    readonly holds: (change: ManageChange, reached: ManagePosition) => boolean;
    readonly broke: (change: ManageChange, why: string) => void;
  },
): ManagePart {
  return {
    ...part,
    async perform(change, seen, begin) {
      const about = named(change);
      notify({ event: "manage.start", ...about });
      try {
        const reached = await part.perform(change, seen, begin);
        if (reached.is === "after") {
          if (!holds(change, reached)) notify({ event: "manage.end", ...about });
        } else notify({ event: "manage.error", ...about, why: reached.why.join("; ") });
        return reached;
      } catch (cause) {
        const why = cause instanceof MigrationError ? `${cause.code} ${cause.message}` : "a fault";
        notify({ event: "manage.error", ...about, why });
        broke(change, why);
        throw cause;
      }
    },
  };
}
