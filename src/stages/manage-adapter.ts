import { MigrationError } from "../model/error.ts";
import { FAKE } from "../model/fake-hardware.ts";
import type { Entry } from "../model/journal.ts";
import { MANAGE, type RecordKeeper, type SeenServer, type ServerWishes } from "../model/manage.ts";
import { type ManagePart, managePart, unmanagePart } from "../parts/manage.ts";
import { bindsOf, type ManageChange, recordOf } from "../parts/manage-acts.ts";
import { novaPart } from "../parts/manage-nova.ts";
import { novaBackPart } from "../parts/manage-nova-back.ts";
import type { Keep } from "./databases.ts";
import type { ManagePlace } from "./manage-place.ts";
import { novaHands } from "./nova-hands.ts";
import { allocationKeeper } from "./record-keeper.ts";

/** How server records are made, and taken away. @param most machines at once */
export interface Adapter {
  readonly name: "allocation" | "nova";
  readonly there: (most: number, twice: ReadonlySet<string>) => ManagePart;
  readonly back: (most: number) => ManagePart;
  readonly look: (change: ManageChange) => Promise<SeenServer>;
  /** What nothing but its hardware tells of a machine that has its record; null: nothing is wrong. */
  readonly fault: (change: ManageChange) => Promise<string | null>;
  /** What a record is, for people: `allocation`. */
  readonly record: string;
}

/** Records that are allocations of Ironic. */
export function allocationAdapter(keeper: RecordKeeper): Adapter {
  return {
    ...{ name: "allocation", record: "allocation" },
    there: (most, twice) => managePart(keeper, most, twice),
    back: (most) => unmanagePart(keeper, most),
    fault: () => Promise.resolve(null),
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
 * @throws MigrationError N2I-E100 where the run began with another
 */
export async function openAdapter(
  place: ManagePlace,
  keep: Keep,
  entries: readonly Entry[],
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
  );
  return {
    ...{ name: "nova", record: "server" },
    there: (most, twice) => novaPart(hands, most, twice),
    back: (most) => novaBackPart(hands, most),
    look: hands.look,
    async fault({ id }) {
      const { driver } = await hands.hardware.read(id);
      return driver === FAKE ? "it stands on fake hardware: nothing reaches its machine" : null;
    },
  };
}

function adapterIn(entries: readonly Entry[]): string | null {
  const began = entries.find((entry) => entry.do === "target" && entry.system === MANAGE);
  return began?.do === "target" ? String(began.target.adapter) : null;
}

/** @throws MigrationError N2I-E100 where the run began with another: its way back knows no records but those */
export function checkAdapter(entries: readonly Entry[], wanted: string): void {
  const known = adapterIn(entries);
  if (known === null || wanted === known) return;
  throw new MigrationError(
    "N2I-E100",
    known === "nova"
      ? "this run makes servers of Nova: give --nova and --flavor, or a --run of its own"
      : "this run makes allocations of Ironic: give --nova a --run of its own",
  );
}

/** Of a way back, which asks for nothing. */
const NONE: ServerWishes = { flavor: "", image: null, ports: null, cut: false, watch: 0 };
