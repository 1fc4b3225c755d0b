import { isDenied } from "../engine/midway.ts";
import { runWindow } from "../engine/window.ts";
import { ONE_BY_ONE, type Pace } from "../engine/window-part.ts";
import { MigrationError } from "../lib/error.ts";
import { once } from "../lib/streams.ts";
import { counted } from "../lib/text.ts";
import type { ManageClients } from "../migrate/open/services.ts";
import type { ExistingNics, ManagedOne } from "../model/ironic/manage.ts";
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
 * its rollback was incomplete
 */
export async function manageOne(
  adapter: Adapter,
  change: ManageChange,
  session: RunSession,
  notify: Notify,
) {
  const acting = { session, sink: { during: silently }, notify };
  const one = { adapter, changes: [change], nics: null };
  const { rows, broke, last, leftovers } = await perform(one, 1, acting);
  const isIt = (id: string): boolean => id === change.id;
  const final =
    broke === null ? leftovers : (await takeBack(adapter, isIt, session, ONE_BY_ONE)).leftovers;
  return { broke, last: last.get(change.id) ?? null, row: rows[0], hasLeftovers: final.size > 0 };
}

/**
 * Rolls back unfinished machines that are no longer wanted.
 *
 * @param ended selects completed machines to roll back
 * @returns the rolled back machines, those with leftovers and the reason, those that may be in use,
 * and the error that ended the rollback
 */
export async function takeBack(
  adapter: Adapter,
  selects: (id: string) => boolean,
  session: RunSession,
  pace: Pace,
  ended: (id: string) => boolean = () => false,
) {
  const part = adapter.back(pace.concurrency, true);
  // The server of a completed machine may be in use.
  const changes = changesBack((id, { open }) => (open ? selects(id) : ended(id)));
  const rolledBack = new Map<string, null>();
  const leftovers = new Map<string, string>();
  const inUse = new Set<string>();
  const markUnfinished = (reason: string): void => {
    for (const [id, { open, handedOut }] of managedIn(session.journal.entries()))
      if (open && selects(id) && !rolledBack.has(id) && !leftovers.has(id)) {
        leftovers.set(id, reason);
        if (handedOut) inUse.add(id);
      }
  };
  // A Nova server needs time, and its machine stays reserved until then.
  const unstopped =
    adapter.target.adapter === "allocation" ? { ...session, stopping: () => false } : session;
  try {
    const leg = { part, command: "node manage", changes, pace };
    const { broke } = await runWindow("back", leg, unstopped, ({ change, position }) => {
      const { is, reasons, inService } = position;
      if (is === "after") rolledBack.set(change.id, null);
      else leftovers.set(change.id, reasons.join("; "));
      if (inService === true) inUse.add(change.id);
    });
    if (session.stopping()) markUnfinished("the command was stopped before");
    return { rolledBack, leftovers, inUse, broke };
  } catch (cause) {
    if (!(cause instanceof MigrationError)) throw cause;
    markUnfinished(cause.message);
    return { rolledBack, leftovers, inUse, broke: cause };
  }
}

interface Acting {
  readonly session: RunSession;
  readonly sink: Pick<Sink, "during">;
  readonly notify: Notify;
}

export async function perform(
  { adapter, changes, nics }: Omit<InspectedRows, "clients">,
  most: number,
  { session, sink, notify }: Acting,
) {
  const rows = new Map<string, ManagedOne>();
  const byId = new Map(changes.map((change) => [change.id, change]));
  const skip = (id: string, reasons: readonly string[]): void => {
    const change = byId.get(id);
    if (change !== undefined) rows.set(id, rowOf(change, "left", null, reasons));
  };
  /** The error of each machine that failed during its steps. */
  const broken = new Map<string, string>();
  /** New records that are compared together, and whose end events are sent after that. */
  const later = new Map<string, Recorded>();
  const isLater = ({ is, view: { node } }: ManagePosition): boolean =>
    nics !== null && is === "after" && node !== null && adapter.comparesLater?.(node) === true;
  const part = reporting(adapter.forward(most, nics), notify, isLater, { broken, later });
  const pace: Pace = { ...ONE_BY_ONE, concurrency: most, inFlight: most };
  const leg = { part, command: "node manage", pace, changes: () => once(changes) };
  const last = new Map<string, ManagePosition>();
  const end = await sink
    .during(
      "node manage",
      changes.length,
      (progress) =>
        runWindow("forward", leg, session, ({ change, position, made, found, completed }) => {
          const { is, reasons } = position;
          if (found && is === "other") refused(change, reasons, notify);
          const outcome = managedOutcome(position, made);
          rows.set(change.id, rowOf(change, outcome, recordIn(change, position), reasons));
          last.set(change.id, position);
          progress(completed);
        }),
      ({ made }) => `${counted(made, "machine")} managed`,
    )
    .catch((cause: unknown) => {
      // Without the permission for a step, earlier steps are still rolled back.
      if (cause instanceof MigrationError && isDenied(cause))
        return { stopped: false, broke: cause };
      reportEnds(later, notify);
      throw cause;
    });
  const denied = end.broke !== null && (isDenied(end.broke) || isDenied(end.broke.cause));
  // A server in use is kept, even if the login lacks a permission.
  const managed = denied ? managedIn(session.journal.entries()) : null;
  const unwanted = (id: string): boolean =>
    rows.get(id)?.outcome === "left" ||
    (managed !== null && byId.has(id) && !rows.has(id) && managed.get(id)?.handedOut !== true);
  const { unlike, cause: unchecked } = await unlikeOf(adapter, [...later.values()], most);
  for (const [id, reasons] of unlike) {
    const made = later.get(id);
    if (made === undefined) continue;
    skip(id, reasons);
    notify({ event: "manage.error", ...eventFields(made.change), why: reasons.join("; ") });
    later.delete(id);
  }
  reportEnds(later, notify);
  const back = await takeBack(adapter, unwanted, session, pace, (id) => unlike.has(id));
  for (const [id, reason] of broken) skip(id, [reason]);
  for (const [id, reason] of [...back.rolledBack, ...back.leftovers]) {
    if (!rows.has(id)) skip(id, []);
    const row = rows.get(id);
    if (row !== undefined) rows.set(id, takenBack(row, reason));
  }
  const broke = end.broke ?? unchecked ?? back.broke;
  return { rows: [...rows.values()], stopped: end.stopped, last, ...back, broke };
}

/** Machines that were changed while their records were created. */
async function unlikeOf(adapter: Adapter, made: readonly Recorded[], most: number) {
  const none: ReadonlyMap<string, readonly string[]> = new Map();
  try {
    const unlike = made.length === 0 ? none : await adapter.unlike?.(made, most);
    return { unlike: unlike ?? none, cause: null };
  } catch (cause) {
    if (!(cause instanceof MigrationError)) throw cause;
    return { unlike: none, cause };
  }
}

/** Adds the result of the rollback. @param reason the reason of leftovers, or null */
function takenBack(row: ManagedOne, reason: string | null): ManagedOne {
  const outcome = reason === null ? "rolled back" : `not rolled back: ${reason}`;
  return { ...row, reason: [row.reason, outcome].filter((one) => one !== "").join("; ") };
}

function managedOutcome({ is, inService }: ManagePosition, made: boolean): ManagedOne["outcome"] {
  if (inService === true) return "in service";
  if (is !== "after") return "left";
  return made ? "managed" : "managed already";
}

export function recordIn({ server }: ManageChange, at: ManagePosition | undefined): string | null {
  const { is, inService, view } = at ?? {};
  return is === "after" || inService === true ? (view?.record?.uuid ?? server) : null;
}

export function rowOf(
  { id, request }: ManageChange,
  outcome: ManagedOne["outcome"],
  server: string | null,
  reasons: readonly string[],
): ManagedOne {
  return { node: id, name: request?.name ?? "", server, outcome, reason: reasons.join("; ") };
}

export interface InspectedRows {
  readonly clients: ManageClients;
  readonly adapter: Adapter;
  readonly changes: readonly ManageChange[];
  /** Null for a single machine, whose port is identified only by its MAC. */
  readonly nics: ExistingNics | null;
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
function refused(change: ManageChange, reasons: readonly string[], notify: Notify): void {
  notify({ event: "manage.start", ...eventFields(change) });
  notify({ event: "manage.error", ...eventFields(change), why: reasons.join("; ") });
}

function reportEnds(later: ReadonlyMap<string, Recorded>, notify: Notify): void {
  for (const { change } of later.values()) notify({ event: "manage.end", ...eventFields(change) });
}

function eventFields({ id, request, server }: ManageChange): Omit<ManageEvent, "event"> {
  return { node: id, name: request?.name ?? "", server };
}

/**
 * Wraps the part with the events of each machine.
 *
 * @param isLater whether to delay the end event
 * @param to receives the errors of machines that fail with an exception, and the delayed machines
 */
function reporting(
  part: ManagePart,
  notify: Notify,
  isLater: (reached: ManagePosition) => boolean,
  to: { readonly broken: Map<string, string>; readonly later: Map<string, Recorded> },
): ManagePart {
  return {
    ...part,
    async perform(change, position, begin) {
      const about = eventFields(change);
      notify({ event: "manage.start", ...about });
      try {
        const reached = await part.perform(change, position, begin);
        const before = reached.view.node;
        if (before !== null && isLater(reached)) to.later.set(change.id, { change, before });
        else if (reached.is === "after") notify({ event: "manage.end", ...about });
        else notify({ event: "manage.error", ...about, why: reached.reasons.join("; ") });
        return reached;
      } catch (cause) {
        const text = cause instanceof MigrationError ? `${cause.code} ${cause.message}` : "a fault";
        notify({ event: "manage.error", ...about, why: text });
        to.broken.set(change.id, text);
        throw cause;
      }
    },
  };
}
