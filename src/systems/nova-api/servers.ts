import { MigrationError } from "../../lib/error.ts";
import { type JsonObject, objectOf } from "../../lib/json.ts";
import type { FlavorNeeds } from "../../model/ironic/manage.ts";
import type { Cloud } from "../openstack/cloud.ts";
import { COMPUTE } from "../openstack/kinds.ts";
import { pause } from "../openstack/passing.ts";
import { ask, openSession, refusedCall, type ServiceSession } from "../openstack/session.ts";
import { type Stand, settled } from "../openstack/settled.ts";
import { listFlavors } from "./flavors.ts";
import { needsOf } from "./needs.ts";
import {
  findAll,
  isUntouched,
  MARK,
  type MadeServer,
  type NovaServer,
  ownOf,
  portsOn,
  read,
  type Turned,
  unsure,
} from "./seen-servers.ts";
import { readZones } from "./zones.ts";

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
  if (greeted.status === 404 || (greeted.status >= 300 && greeted.status < 400)) {
    session.close();
    throw refusedCall(session, "GET /servers", greeted);
  }
  if (greeted.status === 406) {
    session.close();
    throw new MigrationError(
      "N2I-E209",
      `${session.url} does not support microversion ${PINNED}, which creates a server on a given node`,
    );
  }
  const tell: ServiceSession["call"] = async (words) => {
    await failpoint("rest.before");
    const answer = await session.call(words);
    await failpoint("rest.after");
    return answer;
  };
  const at: At = { session, tell };
  return {
    /** Of the login; null where it has none. */
    project: session.project,
    close: session.close,
    read: (id: string) => read(session, id),
    isUntouched: (id: string) => isUntouched(session, id),
    portsOn: (id: string) => portsOn(session, id),
    /**
     * The server that was made by this word for this node, whoever lost the answer, and whatever it is called by now.
     *
     * @param instance what Ironic says that the node has
     */
    find: (mark: string, node: string, instance: string | null = null) =>
      find(at, mark, node, instance),
    /** Servers of this word besides one, on no node: of a call that came late. */
    twins: (mark: string, own: string) => twins(at, mark, own),
    still: (id: string) => still(at, id),
    /** Of a machine that is off Nova's power sync may have stopped it already. */
    built: ({ id }: MadeServer) => reached(at, id, ["ACTIVE", "SHUTOFF"]),
    flavor: (id: string) => flavor(at, id),
    flavorId: (asked: string) => flavorId(at, asked),
    zones: () => readZones(session),
    create: (asked: ServerAsked, how: Creating) => create(at, asked, how),
    turn: (id: string, to: Turned, may: May) => turn(at, id, to, may),
    remove: (id: string, may: May) => remove(at, id, may),
  };
}

interface At {
  readonly session: ServiceSession;
  readonly tell: ServiceSession["call"];
}

/** What became of a server that was waited for. */
type ReachedServer = Pick<NovaServer, "status" | "fault">;

interface Creating {
  /** A word by which it is found again. */
  readonly mark: string;
  /** Nobody asked for it by this word before. */
  readonly isNew: boolean;
  readonly may: May;
}

/** Asked right before each try of a call that a machine could hear: why it may not be made. */
type May = () => Promise<string | null>;

async function find(
  { session }: At,
  mark: string,
  node: string,
  instance: string | null,
): Promise<NovaServer | null> {
  return ownOf(await findAll(session, mark), node, instance);
}

async function twins({ session }: At, mark: string, own: string): Promise<readonly NovaServer[]> {
  const all = await findAll(session, mark);
  return all.filter((one) => one.id !== own && one.node === null && unsure(one) === null);
}

/** Waits until Nova is done with it. */
async function still(at: At, id: string): Promise<NovaServer | null> {
  let now = await read(at.session, id);
  for (let tries = 0; tries < MOST; tries += 1) {
    if (now === null || (now.task === null && now.status !== "BUILD")) return now;
    if (now.status === "ERROR") return now;
    await pause(tries);
    now = await read(at.session, id);
  }
  throw noEnd(at, id);
}

function noEnd({ session }: At, id: string): MigrationError {
  return new MigrationError("N2I-E210", `${session.url} comes to no end with server ${id}`);
}

/**
 * Waits until it has a status, and nothing is under way: Nova writes both at once.
 *
 * @returns null where it is gone; another status where Nova failed
 */
async function reached(at: At, id: string, to: readonly Turned[]): Promise<ReachedServer | null> {
  for (let tries = 0; tries < MOST; tries += 1) {
    await pause(tries);
    const now = await read(at.session, id);
    if (now === null || now.status === "ERROR") return now;
    // What its user did to it since it stays, until he does something else.
    if (now.task === null && (to.some((is) => is === now.status) || !PASSING.has(now.status)))
      return now;
  }
  throw noEnd(at, id);
}

/** Statuses out of which Nova brings a server by itself, or by what it was told. */
const PASSING = new Set(["BUILD", "ACTIVE", "SHUTOFF"]);

/** What a flavor asks for, by its id; null: there is none. */
async function flavor({ session }: At, id: string): Promise<FlavorNeeds | null> {
  const body = await ask(session, `/flavors/${encodeURIComponent(id)}`);
  return body === null ? null : needsOf(objectOf(objectOf(body).flavor));
}

/** Id of a flavor, by its id or by its name, as Nova's own client takes it; null: there is none. */
async function flavorId({ session }: At, asked: string): Promise<string | null> {
  const { id } = objectOf(
    objectOf(await ask(session, `/flavors/${encodeURIComponent(asked)}`)).flavor,
  );
  if (typeof id === "string") return id;
  const all = await listFlavors((path) => ask(session, path));
  return all.find(({ name }) => name === asked)?.flavorid ?? null;
}

/** Asks for a server that was not asked for by this word before; resolves to it, or to why not. */
async function create(
  at: At,
  asked: ServerAsked,
  { mark, isNew, may }: Creating,
): Promise<MadeServer | OverQuota | string> {
  let untold = isNew;
  let calls = isNew ? 0 : 1;
  let made: MadeServer | null = null;
  let isOver = false;
  const found = async (): Promise<MadeServer | string | null> => {
    const server = await find(at, mark, asked.node, null);
    return server && (unsure(server) ?? { id: server.id });
  };
  const look = async (): Promise<Stand> => {
    const known = untold ? null : await found();
    untold = false;
    if (typeof known === "string") return { why: known };
    made = known;
    return made === null ? standOf(await may()) : "made";
  };
  const why = await settled(
    at.session,
    `server ${asked.name}`,
    look,
    async () => {
      calls += 1;
      const answer = await at.tell({ method: "POST", path: "/servers", body: bodyOf(asked, mark) });
      const { id } = objectOf(objectOf(answer.body).server);
      if (typeof id === "string") made = { id };
      return answer;
    },
    ({ status, fault }) => {
      isOver = status === 403 && OVER.test(fault);
      return status === 409 || isOver;
    },
  );
  if (why !== null) return isOver ? { over: why } : why;
  const known = made ?? (await found());
  if (typeof known === "string") return known;
  return known === null
    ? `${at.session.url} answered POST /servers without the server; is a proxy in between?`
    : { ...known, again: calls > 1 };
}

/**
 * In a 403 of Nova that is no word about the login.
 *
 * @source nova 26: exception.py, OverQuota and its like; oslo.limit: ProjectOverLimit
 */
const OVER = /quota|exceed|over limit/i;

/** Refused for what its project may have: another would be, too. */
interface OverQuota {
  readonly over: string;
}

function standOf(why: string | null): Stand {
  return why === null ? "open" : { why };
}

/** Nova stops or starts it. It refuses what the server's status does not allow: that is looked at then. */
async function turn(at: At, id: string, to: Turned, may: May): Promise<string | null> {
  const word = to === "ACTIVE" ? "os-start" : "os-stop";
  let untold = true;
  const look = async (): Promise<Stand> => {
    const now = untold ? undefined : await still(at, id);
    untold = false;
    if (now === null) return { why: `server ${id} is gone` };
    if (now?.status === to) return "made";
    if (now === undefined || now.status === "ACTIVE" || now.status === "SHUTOFF")
      return standOf(await may());
    return { why: `server ${id} is ${now.status}: ${now.fault}` };
  };
  const path = `/servers/${id}/action`;
  const why = await settled(at.session, `${word} of server ${id}`, look, () =>
    at.tell({ method: "POST", path, body: { [word]: null } }),
  );
  if (why !== null) return why;
  const now = await reached(at, id, [to]);
  if (now?.status === to) return null;
  const failed = now?.status === "ERROR" ? `: ${now.fault}` : "";
  const is = now === null ? "gone" : `${now.status}${failed}`;
  return `server ${id} does not become ${to}: it is ${is}`;
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
      // Nova compares the machine in it letter by letter.
      ...(zone !== null && {
        availability_zone: zone.replace(/:[^:]*$/, (id) => id.toLowerCase()),
      }),
      ...(image !== null && { imageRef: image }),
      networks: ports.length === 0 ? "none" : ports.map((port) => ({ port })),
      // Nova refuses a machine that is named twice.
      ...(zone?.includes(":") !== true && { hypervisor_hostname: node }),
    },
  };
}
