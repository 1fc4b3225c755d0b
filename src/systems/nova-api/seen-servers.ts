import { MigrationError, orNull } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import { ask, type ServiceSession } from "../openstack/session.ts";

/** A server as Nova tells it. */
export interface NovaServer {
  readonly id: string;
  /** `ACTIVE`, `SHUTOFF`, `BUILD`, `ERROR`. */
  readonly status: string;
  /** What Nova does with it; null: nothing. */
  readonly task: string | null;
  /** Uuid of its node, where one was chosen and this login may see it. */
  readonly node: string | null;
  /** Whether this login may see it: without, Nova leaves the attribute out. */
  readonly seesNode: boolean;
  readonly fault: string;
  /** Nova changes and deletes it for an administrator alone. */
  readonly locked: boolean;
}

const NODE = "OS-EXT-SRV-ATTR:hypervisor_hostname";

/** In a server's metadata: by which run's word it was made. */
export const MARK = "nova2ironic_manage";

export type Turned = "ACTIVE" | "SHUTOFF";

/** A server that was asked for. */
export interface MadeServer {
  readonly id: string;
  /** It was asked for more than once: a call that came late may have made another. */
  readonly again?: boolean;
}

export async function read(session: ServiceSession, id: string): Promise<NovaServer | null> {
  const body = await ask(session, `/servers/${id}`);
  if (body === null) return null;
  const found = serverOf(objectOf(body).server ?? null);
  if (found === null)
    throw new MigrationError(
      "N2I-E212",
      `${session.url} answered GET /servers/${id} without the server; is a proxy in between?`,
    );
  return found.status === "DELETED" ? null : found;
}

/**
 * Ids of the ports that a server has: all that Nova unbinds or deletes with it. None where it is gone.
 *
 * @source nova 26: network/neutron.py, deallocate_for_instance; compute/attach_interfaces.py, index
 */
export async function portsOn(session: ServiceSession, id: string): Promise<readonly string[]> {
  const body = await ask(session, `/servers/${id}/os-interface`);
  if (body === null) return [];
  const { interfaceAttachments: all } = objectOf(body);
  if (!Array.isArray(all))
    throw new MigrationError(
      "N2I-E212",
      `${session.url} answered GET /servers/${id}/os-interface without the ports; is a proxy in between?`,
    );
  return all.map((one) => String(objectOf(one).port_id));
}

/** From 2.21 on Nova tells the actions of a server that it deleted, too. */
const OF_THERE = "2.20";

/**
 * Whether a server is there, and Nova was asked for nothing of it since it was made: it writes each such thing down before
 * it tells a nova-compute, but a delete while that is down. False too where nobody says so.
 *
 * @source nova: compute/api.py, _record_action_start, _local_delete; no word of it goes to Neutron
 */
export async function isUntouched(session: ServiceSession, id: string): Promise<boolean> {
  const body = await orNull(ask(session.at(OF_THERE), `/servers/${id}/os-instance-actions`));
  const { instanceActions: all } = objectOf(body);
  return Array.isArray(all) && all.length === 1 && objectOf(all[0]).action === "create";
}

/** Every server with this mark in its metadata: Nova cannot search metadata, so all servers are listed. */
export async function findAll(
  session: ServiceSession,
  mark: string,
): Promise<readonly NovaServer[]> {
  const found: NovaServer[] = [];
  for await (const page of listed(session))
    for (const one of page) {
      const server = serverOf(one);
      if (objectOf(one.metadata)[MARK] === mark && server !== null) found.push(server);
    }
  return found;
}

/**
 * Which of the servers that carry a run's word is this node's: whoever copies a server copies its word.
 *
 * @param instance what Ironic says that the node has; null: nothing, or it is not known
 */
export function ownOf(
  all: readonly NovaServer[],
  node: string,
  instance: string | null,
): NovaServer | null {
  const sure = all.find((one) => one.node === node || one.id === instance);
  if (sure !== undefined) return { ...sure, node };
  const unplaced = all.filter((one) => one.node === null);
  return unplaced.find((one) => unsure(one) === null) ?? unplaced[0] ?? null;
}

/** Why one that was found by its word alone may be somebody's copy; null: it is on its node, or on none yet. */
export function unsure({ id, node, seesNode, status }: NovaServer): string | null {
  return node !== null || (seesNode && (status === "BUILD" || status === "ERROR"))
    ? null
    : `server ${id} carries the metadata ${MARK} of this run, and this login does not see its node: use a login that does. If it is a copy, remove ${MARK} from its metadata`;
}

/** Pages of servers of the login's project. */
async function* listed(session: ServiceSession): AsyncGenerator<readonly JsonObject[]> {
  for (let query = ""; ; ) {
    const path = `/servers/detail${query}`;
    const { servers: page, servers_links: more } = objectOf(await ask(session, path));
    // What says nothing of servers is not to be taken for there being none.
    if (!Array.isArray(page) || !page.every(isObject))
      throw new MigrationError("N2I-E212", `${session.url} lists something that is no server`);
    yield page;
    const last = page.at(-1)?.id;
    if (last === undefined || more === undefined) return;
    query = `?marker=${encodeURIComponent(String(last))}`;
  }
}

function serverOf(body: Json): NovaServer | null {
  if (!isObject(body) || typeof body.id !== "string") return null;
  const word = (field: string): string | null => {
    const value = body[field];
    return typeof value === "string" && value !== "" ? value : null;
  };
  return {
    ...{ id: body.id, status: word("status") ?? "UNKNOWN", task: word("OS-EXT-STS:task_state") },
    node: word(NODE),
    seesNode: NODE in body,
    fault: String(objectOf(body.fault).message ?? "no reason given"),
    locked: body.locked === true,
  };
}
