import { MigrationError, orMessage } from "../lib/error.ts";
import { rowsPart } from "../migrate/apply/parts.ts";
import { type ManageClients, openManageClients } from "../migrate/open/services.ts";
import type { Verb } from "../model/database.ts";
import type { Entries } from "../model/journal.ts";
import type { RowState } from "../model/nova/nova-plan.ts";
import type { RestOptions } from "../run/cloud.ts";
import { type Keep, openRole } from "../run/databases.ts";
import { failpoint } from "../run/failpoint.ts";
import { waitingFor } from "../run/process-context.ts";
import { openServerAllocations } from "../systems/nova-api/allocations.ts";
import { needRights } from "../systems/nova-db/host-rights.ts";
import { computeIdOf } from "../systems/nova-db/instances.ts";
import { openMachines } from "../systems/nova-db/machines.ts";
import { identifyNova, MOVED_TABLES } from "../systems/nova-db/plan-open.ts";
import { REQUEST_TABLES } from "../systems/nova-db/requests.ts";
import { createNovaTarget } from "../systems/nova-db/target.ts";
import { serverIn } from "./rules/server.ts";
import type { SwitchedServer, Switchover } from "./rules/switching.ts";
import type { SwitchNova } from "./steps/switch-part.ts";
import { checkSwitchClients, switchedIn } from "./switchover-run.ts";

export interface NovaOptions {
  readonly novaDb?: string;
  readonly placement?: boolean;
}

export interface OpenNova extends SwitchNova {
  /** @returns null if the instance is not a Nova server. @throws MigrationError N2I-E392 */
  readonly serverOf: (
    switchover: Pick<Switchover, "source" | "destination" | "instance_uuid">,
    isIronics: boolean,
  ) => Promise<SwitchedServer | null>;
}

/** Tables that are only read, in addition to `instances`. */
const READ = ["compute_nodes", "services", "migrations", ...REQUEST_TABLES];

/**
 * @returns null without a Nova database
 * @throws MigrationError N2I-E206 with the missing GRANTs, N2I-E202, N2I-E203
 */
export async function openSwitchNova(
  { novaDb, placement = false }: NovaOptions,
  { cloud, limit }: Pick<ManageClients, "cloud" | "limit">,
  keep: Keep,
  { readOnly }: { readonly readOnly: boolean },
): Promise<OpenNova | null> {
  if (novaDb === undefined) return null;
  const database = keep(await openRole("nova-db", novaDb, { readOnly }));
  const verbs: readonly Verb[] = readOnly ? ["SELECT"] : ["SELECT", "UPDATE"];
  const privileges = new Map(READ.map((table) => [table, new Set<Verb>(["SELECT"])]));
  await needRights(database, privileges.set("instances", new Set(verbs)));
  const identity = await identifyNova(database, MOVED_TABLES);
  const open = () =>
    waitingFor("logging in to Placement", () => openServerAllocations(cloud, limit));
  const allocations = placement ? await open() : null;
  if (allocations !== null) keep(allocations);
  return {
    ...novaRows(createNovaTarget(database, identity, failpoint)),
    placement: allocations,
    async serverOf({ source, destination, instance_uuid }, isIronics) {
      const machines = await openMachines(database);
      const [from, to] = await machines.of([source, destination]);
      if (from === undefined || to === undefined) throw new Error("two nodes were asked for");
      if (isIronics && from.instances.length === 0) return null;
      const compute_id = await computeIdOf(database, instance_uuid);
      const found = serverIn(instance_uuid, from, to, compute_id);
      if ("faults" in found) throw new MigrationError("N2I-E392", found.faults.join("; "));
      return { ...found.server, placement };
    },
  };
}

/** Ironic, and Nova if its rows change. */
export interface SwitchClients extends ManageClients {
  readonly nova: OpenNova | null;
}

/**
 * Opens the clients for the switchover of the run, or for a new one.
 *
 * @param how.placement false if Placement does not change
 * @throws MigrationError N2I-E300 for another Ironic, N2I-E100 without the Nova database that the
 * switchover changes
 */
export async function openSwitchClients(
  options: RestOptions & NovaOptions,
  keep: Keep,
  report: (text: string) => void,
  entries: Entries,
  { readOnly, placement = true }: { readonly readOnly: boolean; readonly placement?: boolean },
): Promise<SwitchClients> {
  const clients = await openManageClients(options, keep, report);
  checkSwitchClients(entries, clients.service.identity.address);
  const server = switchedIn(entries)?.plan.server;
  if (server === null) return { ...clients, nova: null };
  if (server !== undefined && options.novaDb === undefined) throw new MigrationError(...NO_NOVA);
  const planned = server !== undefined && { placement: placement && server.placement };
  const nova = await openSwitchNova({ ...options, ...planned }, clients, keep, { readOnly });
  return { ...clients, nova };
}

export const NO_NOVA = ["N2I-E100", "this run changes Nova's rows and requires --nova-db"] as const;

/** Server rows, changed by the part for moves between compute hosts, one transaction per row. */
function novaRows(target: Parameters<typeof rowsPart>[0]): Pick<SwitchNova, "inspect" | "change"> {
  const part = rowsPart(target);
  return {
    async inspect(change) {
      const [state] = await part.inspect([change]);
      // The part returns a state for each change.
      return state as RowState;
    },
    change(change) {
      const performed = part.perform([change], {
        ...{ owned: () => false, ended: () => false },
        ...{ precondition: () => Promise.resolve(), observed: () => Promise.resolve() },
      });
      return orMessage(
        performed.then(() => null),
        "N2I-E300",
      );
    },
  };
}
