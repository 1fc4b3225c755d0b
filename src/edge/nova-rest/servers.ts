import { MigrationError, orNull } from "../../model/error.ts";
import { isObject, type Json, type JsonObject, objectOf } from "../../model/json.ts";
import type { Cloud } from "../openstack/cloud.ts";
import { COMPUTE } from "../openstack/kinds.ts";
import { pause } from "../openstack/passing.ts";
import { ask, openSession, type ServiceSession } from "../openstack/session.ts";
import { type Stand, settled } from "../openstack/settled.ts";
import { together } from "../openstack/together.ts";

/** A server as Nova tells it. */
export interface NovaServer {
  readonly id: string;
  /** `ACTIVE`, `SHUTOFF`, `BUILD`, `ERROR`. */
  readonly status: string;
  /** What Nova does with it; null: nothing. */
  readonly task: string | null;
  /** Uuid of its node, where one was chosen and this login may see it. */
  readonly node: string | null;
  readonly fault: string;
  /** Nova changes and deletes it for an administrator alone. */
  readonly locked: boolean;
  /** When it last changed, ISO 8601 by Nova's clock; null where Nova does not say. */
  readonly updated: string | null;
}

/** What a server is made with. */
export interface ServerAsked {
  readonly name: string;
  readonly description: string | null;
  readonly zone: string | null;
  readonly flavor: string;
  /** Null where the flavor boots without one. */
  readonly image: string | null;
  /** Of Neutron; none: the server has no network. */
  readonly ports: readonly string[];
  readonly metadata: { readonly [key: string]: string };
  readonly node: string;
}

/** In a server's metadata: by which run's word it was made. */
const MARK = "nova2ironic_manage";

/** Newest microversion that is needed: a server goes to one named machine. @source nova: 2.74 of Train */
const PINNED = "2.74";

/** Nova's servers. Each call that changes something resolves to null, or to why it is refused. */
export type NovaServers = Awaited<ReturnType<typeof openServers>>;

/**
 * @param limit milliseconds a call may take
 * @param failpoint called around every call that changes something
 * @throws MigrationError N2I-E106, N2I-E209 where Nova is too old, N2I-E210 to N2I-E212
 */
export async function openServers(
  cloud: Cloud,
  limit: number,
  failpoint: (point: "rest.before" | "rest.after") => Promise<void>,
) {
  const session = (await openSession(cloud, limit, COMPUTE)).at(PINNED);
  const greeted = await session.call({ method: "GET", path: "/servers?limit=1" });
  if (greeted.status === 406) {
    session.close();
    throw new MigrationError(
      "N2I-E209",
      `${session.url} does not speak microversion ${PINNED}, by which a server goes to one machine`,
    );
  }
  const tell: ServiceSession["call"] = async (words) => {
    await failpoint("rest.before");
    const answer = await session.call(words);
    await failpoint("rest.after");
    return answer;
  };
  const at: At = {
    ...{ session, tell },
    find: together((marks) => findAll(session, marks)),
    again: together((last) => readAgain(session, last)),
  };
  return {
    /** Of the login; null where it has none. */
    project: session.project,
    close: session.close,
    read: (id: string) => read(session, id),
    /** The server that was made by this word, whoever lost the answer, and whatever it is called by now. */
    find: at.find,
    still: (id: string) => still(at, id),
    flavor: (id: string) => flavor(at, id),
    create: (asked: ServerAsked, mark: string, may: May) => create(at, asked, mark, may),
    turn: (id: string, to: Turned, may: May) => turn(at, id, to, may),
    remove: (id: string, may: May) => remove(at, id, may),
  };
}

interface At {
  readonly session: ServiceSession;
  readonly tell: ServiceSession["call"];
  readonly find: (mark: string) => Promise<NovaServer | null>;
  /** A server that was seen before, as it is now. */
  readonly again: (last: NovaServer) => Promise<NovaServer | null>;
}

type Turned = "ACTIVE" | "SHUTOFF";

/** Asked right before each try of a call that a machine could hear: why it may not be made. */
type May = () => Promise<string | null>;

async function read(session: ServiceSession, id: string): Promise<NovaServer | null> {
  const { server = null } = objectOf(await ask(session, `/servers/${id}`));
  const found = serverOf(server);
  return found === null || found.status === "DELETED" ? null : found;
}

/** The server that was made by each word, in one walk through all of them: Nova finds none by its metadata. */
async function findAll(session: ServiceSession, marks: readonly string[]) {
  const found = new Map<string, NovaServer | null>();
  const wanted = new Set(marks);
  for await (const page of listed(session, {})) {
    for (const one of page) {
      const mark = objectOf(one.metadata)[MARK];
      if (typeof mark === "string" && wanted.has(mark)) found.set(mark, serverOf(one));
    }
    if (found.size === wanted.size) break;
  }
  return (mark: string): NovaServer | null => found.get(mark) ?? null;
}

/**
 * Servers that are waited for. Nova asks Neutron about each that it shows, but once for a list: several are found
 * in one of what changed since they were last seen, which has each that ever changed. One that is not there, as
 * none was scheduled yet, is asked for by itself; so is each where the list fails, as what stands against one
 * server is no word about another.
 */
async function readAgain(session: ServiceSession, last: readonly NovaServer[]) {
  const found = new Map<string, NovaServer | null>();
  const look = async (since: string): Promise<void> => {
    for await (const page of listed(session, { "changes-since": since }))
      for (const one of page) {
        const server = serverOf(one);
        if (server !== null) found.set(server.id, server.status === "DELETED" ? null : server);
      }
  };
  const since = last.flatMap(({ updated }) => updated ?? []).toSorted()[0];
  if (last.length > 1 && since !== undefined) await orNull(look(since));
  const alone = new Map<string, Promise<NovaServer | null>>();
  for (const { id } of last) if (!found.has(id) && !alone.has(id)) alone.set(id, read(session, id));
  // Who comes meanwhile shares the next question.
  await Promise.allSettled(alone.values());
  return ({ id }: NovaServer) => alone.get(id) ?? found.get(id) ?? null;
}

/** Pages of servers of the login's project, in every detail. */
async function* listed(
  session: ServiceSession,
  filters: { readonly [name: string]: string },
): AsyncGenerator<readonly JsonObject[]> {
  for (let marker = {}; ; ) {
    const query = new URLSearchParams({ ...filters, ...marker }).toString();
    const path = `/servers/detail${query === "" ? "" : `?${query}`}`;
    const body = objectOf(await ask(session, path));
    const page = Array.isArray(body.servers) ? (body.servers as readonly JsonObject[]) : [];
    yield page;
    const last = page.at(-1)?.id;
    if (last === undefined || body.servers_links === undefined) return;
    marker = { marker: String(last) };
  }
}

/** Waits until Nova is done with it. */
async function still(at: At, id: string): Promise<NovaServer | null> {
  let now = await read(at.session, id);
  for (let tries = 0; tries < MOST; tries += 1) {
    if (now === null || (now.task === null && now.status !== "BUILD")) return now;
    if (now.status === "ERROR") return now;
    await pause(tries);
    now = await at.again(now);
  }
  throw new MigrationError("N2I-E210", `${at.session.url} comes to no end with server ${id}`);
}

/** Extra specs of a flavor by its id; null: there is none. */
async function flavor({ session }: At, id: string): Promise<JsonObject | null> {
  const body = await ask(session, `/flavors/${encodeURIComponent(id)}`);
  return body === null ? null : objectOf(objectOf(objectOf(body).flavor).extra_specs);
}

/** Asks for a server that was not asked for by this word before; resolves to it, or to why not. */
async function create(
  at: At,
  asked: ServerAsked,
  mark: string,
  may: May,
): Promise<NovaServer | string> {
  const found = () => at.find(mark);
  const why = await settled(
    at.session,
    `server ${asked.name}`,
    async () => ((await found()) === null ? standOf(await may()) : "made"),
    () => at.tell({ method: "POST", path: "/servers", body: bodyOf(asked, mark) }),
    ({ status }) => status === 409,
  );
  return why ?? (await found()) ?? `Nova does not tell server ${asked.name}`;
}

function standOf(why: string | null): Stand {
  return why === null ? "open" : { why };
}

/** Nova stops or starts it. */
async function turn(at: At, id: string, to: Turned, may: May): Promise<string | null> {
  const word = to === "ACTIVE" ? "os-start" : "os-stop";
  const look = async (): Promise<Stand> => {
    const now = await still(at, id);
    if (now === null) return { why: `server ${id} is gone` };
    if (now.status === to) return "made";
    if (now.status === "ACTIVE" || now.status === "SHUTOFF") return standOf(await may());
    return { why: `server ${id} is ${now.status}: ${now.fault}` };
  };
  const path = `/servers/${id}/action`;
  const why = await settled(at.session, `${word} of server ${id}`, look, () =>
    at.tell({ method: "POST", path, body: { [word]: null } }),
  );
  if (why !== null) return why;
  for (let tries = 0; tries < MOST; tries += 1) {
    const now = await still(at, id);
    if (now?.status === to) return null;
    if (now === null || now.status === "ERROR") break;
    await pause(tries);
  }
  return `server ${id} does not become ${to}`;
}

/** Until it is gone, whether Nova deletes at once or keeps what was deleted for a while. */
async function remove(at: At, id: string, may: May): Promise<string | null> {
  const path = `/servers/${id}`;
  const why = await ended(at, id, { method: "DELETE", path }, may);
  if (why !== KEPT) return why;
  // At the end of that while nova-compute would tear its node down, whatever that is by then.
  const force = { method: "POST", path: `${path}/action`, body: { forceDelete: null } } as const;
  return ended(at, id, force, may);
}

/** @source nova: vm_states.SOFT_DELETED, by [DEFAULT]reclaim_instance_interval */
const KEPT = "SOFT_DELETED";

async function ended(
  at: At,
  id: string,
  words: Parameters<ServiceSession["call"]>[0],
  may: May,
): Promise<string | null> {
  const isKept = (now: NovaServer): boolean => now.status === KEPT && now.task === null;
  const look = async (): Promise<Stand> => {
    const now = await read(at.session, id);
    const isUnderWay = now === null || now.task?.endsWith("deleting") === true;
    if (isUnderWay || (words.method === "DELETE" && isKept(now))) return "made";
    return standOf(await may());
  };
  const why = await settled(at.session, `the end of server ${id}`, look, () => at.tell(words));
  if (why !== null) return why;
  for (let tries = 0; tries < MOST; tries += 1) {
    const now = await read(at.session, id);
    if (now === null) return null;
    if (words.method === "DELETE" && isKept(now)) return KEPT;
    if (now.status === "ERROR" && now.task === null && tries > FEW)
      return `Nova cannot delete server ${id}: ${now.fault}`;
    await pause(tries);
  }
  return `Nova does not delete server ${id}`;
}

/** Looks at Nova's work: about a quarter of an hour in all. */
const MOST = 450;
/** Looks after which an ERROR is no longer the one that was. */
const FEW = 10;

function bodyOf(asked: ServerAsked, mark: string): JsonObject {
  const { name, description, zone, flavor, image, ports, metadata, node } = asked;
  return {
    server: {
      ...{ name, flavorRef: flavor, metadata: { ...metadata, [MARK]: mark } },
      ...(description !== null && { description }),
      ...(zone !== null && { availability_zone: zone }),
      ...(image !== null && { imageRef: image }),
      networks: ports.length === 0 ? "none" : ports.map((port) => ({ port })),
      // Nova refuses a machine that is named twice.
      ...(zone?.includes(":") !== true && { hypervisor_hostname: node }),
    },
  };
}

function serverOf(body: Json): NovaServer | null {
  if (!isObject(body) || typeof body.id !== "string") return null;
  const word = (field: string): string | null => {
    const value = body[field];
    return typeof value === "string" && value !== "" ? value : null;
  };
  return {
    ...{ id: body.id, status: word("status") ?? "UNKNOWN", task: word("OS-EXT-STS:task_state") },
    node: word("OS-EXT-SRV-ATTR:hypervisor_hostname"),
    fault: String(objectOf(body.fault).message ?? "no reason given"),
    ...{ locked: body.locked === true, updated: word("updated") },
  };
}
