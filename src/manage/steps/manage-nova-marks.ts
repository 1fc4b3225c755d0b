import type { JsonObject } from "../../lib/json.ts";
import { FAKE } from "../../model/ironic/fake-hardware.ts";
import type { ManageRequest, ServerView } from "../../model/ironic/manage.ts";
import type { NovaClients } from "../nova-clients.ts";
import { type Act, isMade, isOut, type ManageChange, recordOf } from "./manage-acts.ts";

export interface ServerMaking extends ManageChange {
  readonly clients: NovaClients;
  readonly request: ManageRequest;
  readonly view: ServerView;
  /** Neutron ports that more than one machine names. */
  readonly duplicates: ReadonlySet<string>;
  /** The replaced fields of the node. */
  before: JsonObject;
  /** The new server has the power state of its machine in Nova and Ironic. */
  isPowerSynced?: boolean;
  /** Nova was called more than once to create the server. */
  again?: boolean;
  over?: string;
  readonly begin: (act: Act) => Promise<void>;
}

/** Maintenance reason while the Nova server is created or deleted. */
export function maintenanceFor(server: string): string {
  return `nova2ironic gives it a server of Nova: ${server}`;
}

/** Whether the machine was started, and still has this run's mark or maintenance. */
export function marked(
  { acts, server }: Pick<ManageChange, "acts" | "server">,
  { node }: ServerView,
): boolean {
  const isReserved = acts.some(({ step }) => step === "hold");
  const marks = [...Object.values(node?.extra ?? {}), node?.maintenance_reason];
  return isReserved && (marks.includes(server) || marks.includes(maintenanceFor(server)));
}

/** Why only the mark may change: the node is in service without this run's server. Or null. */
export function anothers(
  change: Pick<ManageChange, "server" | "acts">,
  now: JsonObject,
): string | null {
  return isMade(change) && isForeign(change, now)
    ? `it no longer has server ${recordOf(change)}`
    : null;
}

/** Whether a node is in service with its server, on its own hardware. */
export function isInUse(
  change: Pick<ManageChange, "server" | "acts">,
  { driver, maintenance_reason: reason, instance_uuid: instance }: JsonObject,
): boolean {
  return (
    driver !== FAKE && reason !== maintenanceFor(change.server) && instance === recordOf(change)
  );
}

/** Records that the node is in service before anything reserves it. @returns whether it is */
export async function recordInUse(
  at: Pick<ServerMaking, "server" | "acts" | "begin">,
  now: JsonObject,
): Promise<boolean> {
  const isSo = isInUse(at, now);
  if (isSo && !isOut(at)) await at.begin({ step: "out" });
  return isSo;
}

/**
 * Whether a node is in service on its own hardware without its server, or its user deleted the
 * server. Before service, the server may be lost while the disk is intact.
 */
export function isForeign(
  change: Pick<ManageChange, "server" | "acts">,
  { driver, maintenance_reason: reason, instance_uuid: instance, ...node }: JsonObject,
): boolean {
  if (driver === FAKE || instance === recordOf(change)) return false;
  const isTornDown = instance === null && node.provision_state !== "active";
  return reason !== maintenanceFor(change.server) || (isOut(change) && isTornDown);
}
