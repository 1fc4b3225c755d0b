import { MigrationError, orNull } from "../../model/error.ts";
import { isObject, type Json, type JsonObject, objectOf } from "../../model/json.ts";
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
  /** When it last changed, ISO 8601 by Nova's clock; null where Nova does not say. */
  readonly updated: string | null;
}

const NODE = "OS-EXT-SRV-ATTR:hypervisor_hostname";

/** In a server's metadata: by which run's word it was made. */
export const MARK = "nova2ironic_manage";

export type Turned = "ACTIVE" | "SHUTOFF";

/** A server that was asked for. */
export interface MadeServer {
  readonly id: string;
  /** ISO 8601 by Nova's clock: it changed since. Null where Nova does not say. */
  readonly since: string | null;
  /** It was asked for more than once: a call that came late may have made another. */
  readonly again?: boolean;
}

export interface Wait extends MadeServer {
  readonly to: readonly Turned[];
}

/** Null: none of them yet. */
export type ShownStatus = Turned | "ERROR" | "not told" | null;

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

/** Every server that carries each word, in one walk through all of them: Nova finds none by its metadata. */
export async function findAll(session: ServiceSession, marks: readonly string[]) {
  const found = new Map<string, NovaServer[]>(marks.map((mark) => [mark, []]));
  for await (const page of listed(session, "/servers/detail", {}))
    for (const one of page) {
      const mark = objectOf(one.metadata)[MARK];
      const server = serverOf(one);
      if (typeof mark === "string" && server !== null) found.get(mark)?.push(server);
    }
  return (mark: string): readonly NovaServer[] => found.get(mark) ?? [];
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

/**
 * Servers that are waited for, found in lists without details, one for each status: of what a list or an answer shows in
 * detail Nova asks Neutron first, which takes both ten times as long.
 */
export async function listShown(session: ServiceSession, waits: readonly Wait[]) {
  const since = waits.map(({ since }) => since ?? "").toSorted()[0] ?? "";
  const idsOf = async (status: Turned | "ERROR"): Promise<ReadonlySet<string>> => {
    const ids = new Set<string>();
    const filters = { status, ...(since !== "" && { "changes-since": since }) };
    for await (const page of listed(session, "/servers", filters))
      for (const { id } of page) ids.add(String(id));
    return ids;
  };
  const lists = async () => {
    const found = new Map<Turned | "ERROR", ReadonlySet<string>>();
    for (const status of new Set([...waits.flatMap(({ to }) => to), "ERROR" as const]))
      found.set(status, await idsOf(status));
    return found;
  };
  const found = await orNull(lists());
  return ({ id, to }: Wait): ShownStatus => {
    if (found === null) return "not told";
    const is = ["ERROR" as const, ...to].find((status) => found.get(status)?.has(id) === true);
    return is ?? null;
  };
}

/** Pages of servers of the login's project. */
async function* listed(
  session: ServiceSession,
  collection: "/servers" | "/servers/detail",
  filters: { readonly [name: string]: string },
): AsyncGenerator<readonly JsonObject[]> {
  for (let marker = {}; ; ) {
    const query = new URLSearchParams({ ...filters, ...marker }).toString();
    const path = `${collection}${query === "" ? "" : `?${query}`}`;
    const { servers: page, servers_links: more } = objectOf(await ask(session, path));
    // What says nothing of servers is not to be taken for there being none.
    if (!Array.isArray(page) || !page.every(isObject))
      throw new MigrationError("N2I-E212", `${session.url} lists something that is no server`);
    yield page;
    const last = page.at(-1)?.id;
    if (last === undefined || more === undefined) return;
    marker = { marker: String(last) };
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
    ...{ locked: body.locked === true, updated: word("updated") },
  };
}
