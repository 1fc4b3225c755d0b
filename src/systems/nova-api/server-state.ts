import { MigrationError, orNull } from "../../lib/error.ts";
import { isObject, type Json, type JsonObject, objectOf } from "../../lib/json.ts";
import { ask, type ServiceSession } from "../openstack/session.ts";

export interface NovaServer {
  readonly id: string;
  /** `ACTIVE`, `SHUTOFF`, `BUILD`, `ERROR`. */
  readonly status: string;
  readonly task: string | null;
  /** Uuid of its node, if scheduled and visible to this login. */
  readonly node: string | null;
  /** Nova omits the attribute if the login may not see it. */
  readonly seesNode: boolean;
  readonly fault: string;
  /** Only an administrator can change or delete it. */
  readonly locked: boolean;
}

const NODE = "OS-EXT-SRV-ATTR:hypervisor_hostname";

export const MARK = "nova2ironic_manage";

export type Turned = "ACTIVE" | "SHUTOFF";

export interface MadeServer {
  readonly id: string;
  /** Requested more than once, so a delayed call may have created another server. */
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
 * All ports that Nova unbinds or deletes with the server.
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

/** Later versions also return actions of deleted servers. */
const LIVE_ONLY = "2.20";

/**
 * Whether creation is the only recorded action. Nova records an action before nova-compute receives
 * it, except a delete while nova-compute is down. False if unknown.
 *
 * @source nova: compute/api.py, _record_action_start, _local_delete; Neutron is not called
 */
export async function isUntouched(session: ServiceSession, id: string): Promise<boolean> {
  const body = await orNull(ask(session.at(LIVE_ONLY), `/servers/${id}/os-instance-actions`));
  const { instanceActions: all } = objectOf(body);
  return Array.isArray(all) && all.length === 1 && objectOf(all[0]).action === "create";
}

/** Lists all servers, because Nova cannot search metadata. */
async function findAll(session: ServiceSession, mark: string): Promise<readonly NovaServer[]> {
  const found: NovaServer[] = [];
  for await (const page of listed(session))
    for (const one of page) {
      const server = serverOf(one);
      if (objectOf(one.metadata)[MARK] === mark && server !== null) found.push(server);
    }
  return found;
}

/**
 * The server of a run. The response may have been lost, and the name may have changed. Users can
 * copy metadata, so several servers may have the run's mark.
 *
 * @param instance the node's instance in Ironic, or null
 */
export async function find(
  session: ServiceSession,
  mark: string,
  node: string,
  instance: string | null = null,
): Promise<NovaServer | null> {
  const all = await findAll(session, mark);
  const sure = all.find((one) => one.node === node || one.id === instance);
  if (sure !== undefined) return { ...sure, node };
  const unplaced = all.filter((one) => one.node === null);
  return unplaced.find((one) => unsure(one) === null) ?? unplaced[0] ?? null;
}

/** Other unscheduled servers with the mark, created by a delayed call. */
export async function twins(
  session: ServiceSession,
  mark: string,
  id: string,
): Promise<readonly NovaServer[]> {
  const all = await findAll(session, mark);
  return all.filter((one) => one.id !== id && one.node === null && unsure(one) === null);
}

/** The reason why a server may be a copy. Null if it is on its node or not yet scheduled. */
export function unsure({ id, node, seesNode, status }: NovaServer): string | null {
  return node !== null || (seesNode && (status === "BUILD" || status === "ERROR"))
    ? null
    : `server ${id} has the metadata ${MARK} of this run, but its node is not visible with these credentials: use credentials that can read the node. If the server is a copy, remove ${MARK} from its metadata`;
}

async function* listed(session: ServiceSession): AsyncGenerator<readonly JsonObject[]> {
  for (let query = ""; ; ) {
    const path = `/servers/detail${query}`;
    const { servers: page, servers_links: more } = objectOf(await ask(session, path));
    // A malformed list must not count as empty.
    if (!Array.isArray(page) || !page.every(isObject))
      throw new MigrationError("N2I-E212", `${session.url} lists an object that is not a server`);
    yield page;
    const last = page.at(-1)?.id;
    if (last === undefined || more === undefined) return;
    query = `?marker=${encodeURIComponent(String(last))}`;
  }
}

function serverOf(body: Json): NovaServer | null {
  if (!isObject(body) || typeof body.id !== "string") return null;
  const text = (field: string): string | null => {
    const value = body[field];
    return typeof value === "string" && value !== "" ? value : null;
  };
  return {
    ...{ id: body.id, status: text("status") ?? "UNKNOWN", task: text("OS-EXT-STS:task_state") },
    node: text(NODE),
    seesNode: NODE in body,
    fault: String(objectOf(body.fault).message ?? "no reason given"),
    locked: body.locked === true,
  };
}
