import { MigrationError } from "../../lib/error.ts";
import { type JsonObject, objectOf } from "../../lib/json.ts";
import type { Cloud } from "../openstack/cloud.ts";
import { COMPUTE } from "../openstack/kinds.ts";
import { pause, polled } from "../openstack/passing.ts";
import { openSession, refusedCall, type ServiceSession } from "../openstack/session.ts";
import { type CallState, settled } from "../openstack/settled.ts";
import {
  MARK,
  type MadeServer,
  type NovaServer,
  novaReader,
  type Turned,
  unsure,
} from "./server-state.ts";

export interface ServerRequest {
  readonly name: string;
  readonly description: string | null;
  readonly zone: string | null;
  readonly flavor: string;
  /** Null if the flavor needs none. */
  readonly image: string | null;
  /** Ids of Neutron ports. Empty: no network. */
  readonly ports: readonly string[];
  readonly metadata: { readonly [key: string]: string };
  readonly node: string;
}

/** First microversion with a target host. @source nova: 2.74 of Train */
const PINNED = "2.74";

/** @throws MigrationError N2I-E106, N2I-E209 if Nova is too old, N2I-E210 to N2I-E212 */
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
      `${session.url} does not support microversion ${PINNED}, which creates a server on a specified node`,
    );
  }
  const send: ServiceSession["call"] = async (args) => {
    await failpoint("rest.before");
    const answer = await session.call(args);
    await failpoint("rest.after");
    return answer;
  };
  const reader = novaReader(session);
  const at: At = { ...reader, session, send };
  return {
    ...reader,
    project: session.project,
    close: session.close,
    waitUntilIdle: (id: string) => waitUntilIdle(at, id),
    /** Nova's power sync may already have stopped the server. */
    built: ({ id }: MadeServer) => reached(at, id, ["ACTIVE", "SHUTOFF"]),
    create: (request: ServerRequest, how: Creating) => create(at, request, how),
    turn: (id: string, to: Turned, may: May) => turn(at, id, to, may),
    remove: (id: string, may: May) => remove(at, id, may),
  };
}

interface At extends ReturnType<typeof novaReader> {
  readonly session: ServiceSession;
  readonly send: ServiceSession["call"];
}

interface Creating {
  readonly mark: string;
  /** No earlier call used this mark. */
  readonly isNew: boolean;
  readonly may: May;
}

/** Called before each try. Returns the reason not to make the call. */
type May = () => Promise<string | null>;

/** Waits until Nova has no task for the server. */
function waitUntilIdle(at: At, id: string): Promise<NovaServer | null> {
  return until(at, id, ({ status, task }) => task === null && status !== "BUILD");
}

/** Also ends with an error, or with null if the server was deleted. */
async function until(
  { session, read }: At,
  id: string,
  isOver: (now: NovaServer) => boolean,
): Promise<NovaServer | null> {
  const ended = await polled(async () => {
    const now = await read(id);
    return now === null || now.status === "ERROR" || isOver(now) ? now : undefined;
  });
  if (ended !== undefined) return ended;
  throw new MigrationError("N2I-E210", `${session.url} does not finish with server ${id}`);
}

/** Nova writes status and task at once. */
async function reached(at: At, id: string, to: readonly Turned[]): Promise<NovaServer | null> {
  await pause(0);
  // A status set by the user stays until the user's next action.
  const isFinal = (status: string) => to.some((is) => is === status) || !PASSING.has(status);
  return until(at, id, ({ task, status }) => task === null && isFinal(status));
}

/** Statuses that Nova leaves by itself or after a call. */
const PASSING = new Set(["BUILD", "ACTIVE", "SHUTOFF"]);

/**
 * Creates the server unless one with this mark exists.
 *
 * @returns the server, why the project's quota refuses it and all others, or why it is refused
 */
async function create(
  at: At,
  spec: ServerRequest,
  { mark, isNew, may }: Creating,
): Promise<MadeServer | { readonly over: string } | string> {
  let isFirst = isNew;
  let calls = isNew ? 0 : 1;
  let made: MadeServer | null = null;
  let isOver = false;
  const found = async (): Promise<MadeServer | string | null> => {
    const server = await at.find(mark, spec.node);
    return server && (unsure(server) ?? { id: server.id });
  };
  const read = async (): Promise<CallState> => {
    const existing = isFirst ? null : await found();
    isFirst = false;
    if (typeof existing === "string") return { reason: existing };
    made = existing;
    return made === null ? callStateOf(await may()) : "made";
  };
  const reason = await settled(
    at.session,
    `server ${spec.name}`,
    read,
    async () => {
      calls += 1;
      const answer = await at.send({ method: "POST", path: "/servers", body: bodyOf(spec, mark) });
      const { id } = objectOf(objectOf(answer.body).server);
      if (typeof id === "string") made = { id };
      return answer;
    },
    ({ status, fault }) => {
      isOver = status === 403 && OVER.test(fault);
      return status === 409 || isOver;
    },
  );
  if (reason !== null) return isOver ? { over: reason } : reason;
  const existing = made ?? (await found());
  if (typeof existing === "string") return existing;
  return existing === null
    ? `${at.session.url} answered POST /servers without the server; is a proxy in between?`
    : { ...existing, again: calls > 1 };
}

/** @source nova 26: exception.py, OverQuota and its like; oslo.limit: ProjectOverLimit */
const OVER = /quota|exceed|over limit/i;

function callStateOf(reason: string | null): CallState {
  return reason === null ? "open" : { reason };
}

/** Nova refuses the action in some statuses, which the next read shows. */
async function turn(at: At, id: string, to: Turned, may: May): Promise<string | null> {
  const action = to === "ACTIVE" ? "os-start" : "os-stop";
  let isFirst = true;
  const read = async (): Promise<CallState> => {
    const now = isFirst ? undefined : await waitUntilIdle(at, id);
    isFirst = false;
    if (now === null) return { reason: `server ${id} no longer exists` };
    if (now?.status === to) return "made";
    if (now === undefined || now.status === "ACTIVE" || now.status === "SHUTOFF")
      return callStateOf(await may());
    return { reason: `server ${id} is ${now.status}: ${now.fault}` };
  };
  const path = `/servers/${id}/action`;
  const reason = await settled(at.session, `${action} of server ${id}`, read, () =>
    at.send({ method: "POST", path, body: { [action]: null } }),
  );
  if (reason !== null) return reason;
  const now = await reached(at, id, [to]);
  if (now?.status === to) return null;
  const failed = now?.status === "ERROR" ? `: ${now.fault}` : "";
  const is = now === null ? "gone" : `${now.status}${failed}`;
  return `server ${id} does not become ${to}: it is ${is}`;
}

/** Also completes a deferred delete. */
async function remove(at: At, id: string, may: May): Promise<string | null> {
  const path = `/servers/${id}`;
  const reason = await ended(at, id, { method: "DELETE", path }, may);
  if (reason !== SOFT_DELETED) return reason;
  // At the end of the interval, nova-compute would tear down the node, even if it is in use again.
  const force = { method: "POST", path: `${path}/action`, body: { forceDelete: null } } as const;
  return ended(at, id, force, may);
}

/** @source nova: vm_states.SOFT_DELETED, by [DEFAULT]reclaim_instance_interval */
const SOFT_DELETED = "SOFT_DELETED";

async function ended(at: At, id: string, args: Parameters<ServiceSession["call"]>[0], may: May) {
  const isRetained = (now: NovaServer): boolean => now.status === SOFT_DELETED && now.task === null;
  const poll = async (): Promise<CallState> => {
    const now = await at.read(id);
    const isDeleting = now === null || now.task?.endsWith("deleting") === true;
    if (isDeleting || (args.method === "DELETE" && isRetained(now))) return "made";
    return callStateOf(await may());
  };
  const reason = await settled(at.session, `the end of server ${id}`, poll, () => at.send(args));
  if (reason !== null) return reason;
  const over = await polled(async (tries): Promise<string | null | undefined> => {
    const now = await at.read(id);
    if (now === null) return null;
    if (args.method === "DELETE" && isRetained(now)) return SOFT_DELETED;
    return now.status === "ERROR" && now.task === null && tries > FEW
      ? `Nova cannot delete server ${id}: ${now.fault}`
      : undefined;
  });
  return over === undefined ? `Nova does not delete server ${id}` : over;
}

/** Reads after which an ERROR is new. */
const FEW = 10;

function bodyOf(request: ServerRequest, mark: string): JsonObject {
  const { name, description, zone, flavor, image, ports, metadata, node } = request;
  return {
    server: {
      ...{ name, flavorRef: flavor, metadata: { ...metadata, [MARK]: mark } },
      ...(description !== null && { description }),
      // Nova compares the node's uuid case-sensitively.
      ...(zone !== null && {
        availability_zone: zone.replace(/:[^:]*$/, (id) => id.toLowerCase()),
      }),
      ...(image !== null && { imageRef: image }),
      networks: ports.length === 0 ? "none" : ports.map((port) => ({ port })),
      // Nova refuses a node that is set twice.
      ...(zone?.includes(":") !== true && { hypervisor_hostname: node }),
    },
  };
}
