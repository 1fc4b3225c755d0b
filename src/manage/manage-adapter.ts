import { MigrationError } from "../lib/error.ts";
import type { Json, JsonObject } from "../lib/json.ts";
import type { ManageClients } from "../migrate/open/services.ts";
import { FAKE } from "../model/ironic/fake-hardware.ts";
import {
  type ExistingNics,
  MANAGE,
  type RunningNode,
  type ServerView,
  type ServerWishes,
} from "../model/ironic/manage.ts";
import { type Entries, targetOf } from "../model/journal.ts";
import type { Keep } from "../run/databases.ts";
import { managedIn } from "./manage-run.ts";
import { openNovaClients } from "./nova-clients.ts";
import { allocationClient } from "./record-client.ts";
import { type ManagePart, managePart, unmanagePart } from "./steps/manage.ts";
import { isMade, type ManageChange, portsBound, recordOf } from "./steps/manage-acts.ts";
import { novaPart } from "./steps/manage-nova.ts";
import { novaBackPart } from "./steps/manage-nova-back.ts";
import { unlike } from "./steps/manage-positions.ts";

/** Creates and deletes server records. @param most machines at once */
export interface Adapter {
  readonly target: { readonly adapter: "allocation" | "nova"; readonly project?: string };
  /** @param nics NICs of all nodes; null for a single machine */
  readonly forward: (most: number, nics: ExistingNics | null) => ManagePart;
  /** @param auto true without a rollback command: a server that may be in use is kept */
  readonly back: (most: number, auto?: boolean) => ManagePart;
  readonly read: (change: ManageChange) => Promise<ServerView>;
  /** Whether a new record is compared by `unlike` for all machines together, not by itself. */
  readonly comparesLater?: (before: RunningNode) => boolean;
  /** The machines that changed since the record was created, with the reasons. */
  readonly unlike?: (
    made: readonly Recorded[],
    most: number,
  ) => Promise<ReadonlyMap<string, readonly string[]>>;
  /** A fault that only the node's hardware type shows, or null. */
  readonly fault?: (change: ManageChange) => Promise<string | null>;
  /** Availability zones and whether they are available; null if unknown. */
  readonly zones?: () => Promise<ReadonlyMap<string, boolean> | null>;
}

export interface Recorded {
  readonly change: ManageChange;
  readonly before: RunningNode;
}

export function allocationAdapter(clients: ManageClients): Adapter {
  const recordClient = allocationClient(clients);
  return {
    target: { adapter: "allocation" },
    forward: (most, nics) => managePart(recordClient, most, nics),
    back: (most) => unmanagePart(recordClient, most),
    read: (change) => recordClient.read(change.id, recordOf(change), portsBound(change)),
    // A node with an instance or VIFs was marked, and is read again together with its record.
    comparesLater: ({ nics, instance_uuid }) =>
      instance_uuid === null && nics.every(({ vif }) => vif === null),
    async unlike(made, most) {
      const ids = made.map(({ change }) => change.id);
      const now = await recordClient.compared(ids, most);
      const against = made.map(({ change, before }, at) => {
        const rejections = unlike(change, before, now[at] ?? null);
        return [change.id, rejections.map(({ reason }) => reason)] as const;
      });
      return new Map(against.filter(([, reasons]) => reasons.length > 0));
    },
  };
}

/**
 * Opens the adapter of the command, or the adapter of the run.
 *
 * @param requested the options for Nova; null for the run's own adapter
 * @throws MigrationError N2I-E100 if the run has another adapter, N2I-E300 if another project
 */
export async function openAdapter(
  clients: ManageClients,
  keep: Keep,
  entries: Entries,
  requested: ServerWishes | "allocation" | null,
): Promise<Adapter> {
  const wished = requested === "allocation" ? requested : "nova";
  const kind = requested === null ? recordedIn(entries)?.adapter : wished;
  checkAdapter(entries, kind);
  if (kind !== "nova") return allocationAdapter(clients);
  const novaClients = await openNovaClients(
    clients,
    keep,
    requested === null || requested === "allocation" ? NONE : requested,
    [...managedIn(entries).values()].flatMap(({ change, open }) =>
      open && !isMade(change) ? [change] : [],
    ),
  );
  const { project } = novaClients.servers;
  checkProject(entries, project);
  return {
    target: { adapter: "nova", ...(project !== null && { project }) },
    forward: (most, nics) => novaPart(novaClients, most, nics?.duplicates),
    back: (most, auto) => novaBackPart(novaClients, most, auto),
    ...{ read: novaClients.read, zones: novaClients.servers.zones },
    async fault({ id }) {
      const { driver } = await novaClients.hardware.read(id);
      return driver === FAKE ? "its fake-hardware driver does not control a machine" : null;
    },
  };
}

function recordedIn(entries: Entries): JsonObject | undefined {
  return targetOf(entries, MANAGE)?.target;
}

/** @throws MigrationError N2I-E300 if the run uses another Ironic */
export function checkSameIronic(entries: Entries, address: string): void {
  const recorded = recordedIn(entries)?.address ?? address;
  if (recorded === address) return;
  throw new MigrationError(
    "N2I-E300",
    `this run manages machines of ${String(recorded)}, but the command uses ${address}`,
  );
}

/**
 * With another project, a server of unknown uuid would be created twice. @throws MigrationError
 * N2I-E300
 */
function checkProject(entries: Entries, project: string | null): void {
  const recorded = recordedIn(entries)?.project;
  if (typeof recorded !== "string" || project === null || recorded === project) return;
  throw new MigrationError(
    "N2I-E300",
    `this run creates servers in project ${recorded}, but the credentials are for project ${project}`,
    {
      reason: "Nova lists only the servers in the project of the credentials.",
      fix: "Use credentials for the project of this run.",
    },
  );
}

/** Rollback handles one kind of record. @throws MigrationError N2I-E100 for another kind */
export function checkAdapter(entries: Entries, kind: Json | undefined): void {
  const recorded = recordedIn(entries)?.adapter;
  if (recorded === undefined || kind === recorded) return;
  throw new MigrationError(
    "N2I-E100",
    recorded === "nova"
      ? "this run creates Nova servers. Add --nova and --flavor, or use a different --run"
      : "this run creates Ironic allocations. With --nova, use a different --run",
  );
}

/** For a rollback, which creates no servers. */
const NONE: ServerWishes = { flavor: "", image: null, ports: null, cut: false, watch: 0 };
