import { MigrationError } from "../lib/error.ts";
import type { ManagePlace } from "../migrate/open/services.ts";
import type { KnownNics, RunningNode } from "../model/ironic/adoptable.ts";
import { FAKE } from "../model/ironic/fake-hardware.ts";
import {
  MANAGE,
  type RecordKeeper,
  type SeenServer,
  type ServerWishes,
} from "../model/ironic/manage.ts";
import { type Entries, targetOf } from "../model/journal.ts";
import type { Keep } from "../run/databases.ts";
import { managedIn } from "./manage-run.ts";
import { novaHands } from "./nova-hands.ts";
import { allocationKeeper } from "./record-keeper.ts";
import { type ManagePart, managePart, unmanagePart } from "./steps/manage.ts";
import { bindsOf, isMade, type ManageChange, recordOf } from "./steps/manage-acts.ts";
import { novaPart } from "./steps/manage-nova.ts";
import { novaBackPart } from "./steps/manage-nova-back.ts";
import { unlike } from "./steps/manage-positions.ts";

/** How server records are made, and taken away. @param most machines at once */
export interface Adapter {
  readonly name: "allocation" | "nova";
  /** What the journal keeps of it. */
  readonly target: { readonly adapter: string; readonly project?: string };
  /** @param cards of all nodes; null: a single machine is asked for */
  readonly there: (most: number, cards: KnownNics | null) => ManagePart;
  /** @param unasked by no command of its own: what a user may have by now is left */
  readonly back: (most: number, unasked?: boolean) => ManagePart;
  readonly look: (change: ManageChange) => Promise<SeenServer>;
  /** Whether one of several is not looked at again by itself once it has its record, but by `unlike` with all others. */
  readonly comparesLater: (before: RunningNode) => boolean;
  /** Of those that have their record now, and were not looked at since: those that are not as they are to be, and why. */
  readonly unlike: (
    made: readonly Recorded[],
    most: number,
  ) => Promise<ReadonlyMap<string, readonly string[]>>;
  /** What nothing but its hardware tells of a machine that has its record; null: nothing is wrong. */
  readonly fault: (change: ManageChange) => Promise<string | null>;
  /** Zones that records are made in, each with whether they are now; null: there are none, or nobody tells. */
  readonly zones: () => Promise<ReadonlyMap<string, boolean> | null>;
  /** What a record is, for people: `allocation`. */
  readonly record: string;
}

/** A machine that was given its record, and how it was seen before. */
export interface Recorded {
  readonly change: ManageChange;
  readonly before: RunningNode;
}

/** Records that are allocations of Ironic. */
export function allocationAdapter(keeper: RecordKeeper): Adapter {
  return {
    ...{ name: "allocation", record: "allocation", target: { adapter: "allocation" } },
    there: (most, cards) => managePart(keeper, most, cards),
    // One that was marked is looked at again then, with its record.
    comparesLater: ({ nics, instance_uuid }) =>
      instance_uuid === null && nics.every(({ vif }) => vif === null),
    async unlike(made, most) {
      const now = await keeper.compared(
        made.map(({ change }) => change.id),
        most,
      );
      return new Map(
        made.flatMap(({ change, before }, at) => {
          const against = unlike(change, before, now[at] ?? null);
          return against.length === 0 ? [] : [[change.id, against.map(({ why }) => why)] as const];
        }),
      );
    },
    back: (most) => unmanagePart(keeper, most),
    fault: () => Promise.resolve(null),
    zones: () => Promise.resolve(null),
    look: (change) =>
      keeper.look(
        change.id,
        recordOf(change),
        bindsOf(change).map(({ port }) => port),
      ),
  };
}

/**
 * The adapter that machines are managed by, or that a run began with.
 *
 * @param asked what is wanted of Nova; null: whatever the run began with
 * @throws MigrationError N2I-E100 where the run began with another, N2I-E300 with another project
 */
export async function openAdapter(
  place: ManagePlace,
  keep: Keep,
  entries: Entries,
  asked: ServerWishes | "allocation" | null,
): Promise<Adapter> {
  const known = adapterIn(entries);
  const wanted = asked === null ? known : asked === "allocation" ? asked : "nova";
  if (wanted !== null) checkAdapter(entries, wanted);
  if (wanted !== "nova") return allocationAdapter(allocationKeeper(place));
  const hands = await novaHands(
    place,
    keep,
    asked === null || asked === "allocation" ? NONE : asked,
    [...managedIn(entries).values()].flatMap(({ change, open }) =>
      open && !isMade(change) ? [change] : [],
    ),
  );
  const { project } = hands.servers;
  checkProject(entries, project);
  return {
    ...{ name: "nova", record: "server" },
    target: { adapter: "nova", ...(project !== null && { project }) },
    there: (most, cards) => novaPart(hands, most, cards?.twice),
    comparesLater: () => false,
    unlike: () => Promise.resolve(new Map()),
    back: (most, unasked) => novaBackPart(hands, most, unasked),
    ...{ look: hands.look, zones: hands.zones },
    async fault({ id }) {
      const { driver } = await hands.hardware.read(id);
      return driver === FAKE ? "it stands on fake hardware: nothing reaches its machine" : null;
    },
  };
}

function adapterIn(entries: Entries): string | null {
  const began = targetOf(entries, MANAGE);
  return began === undefined ? null : String(began.target.adapter);
}

/**
 * Nova lists the servers of the login's own project, and one whose uuid came to nobody is found by that list alone: a
 * login of another would leave it, and ask for a second.
 *
 * @throws MigrationError N2I-E300
 */
function checkProject(entries: Entries, project: string | null): void {
  const own = targetOf(entries, MANAGE)?.target.project;
  if (typeof own !== "string" || project === null || own === project) return;
  throw new MigrationError(
    "N2I-E300",
    `this run makes servers in project ${own}, and the login is of project ${project}`,
    {
      why: "Nova lists only the servers of the login's own project.",
      fix: "Use a login of the project that the run began with.",
    },
  );
}

/** @throws MigrationError N2I-E100 where the run began with another: its way back knows no records but those */
export function checkAdapter(entries: Entries, wanted: string): void {
  const known = adapterIn(entries);
  if (known === null || wanted === known) return;
  throw new MigrationError(
    "N2I-E100",
    known === "nova"
      ? "this run makes servers of Nova. Add --nova and --flavor, or give another --run"
      : "this run makes allocations of Ironic. With --nova, give another --run",
  );
}

/** Of a way back, which asks for nothing. */
const NONE: ServerWishes = { flavor: "", image: null, ports: null, cut: false, watch: 0 };
