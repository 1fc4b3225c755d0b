import { randomUUID } from "node:crypto";
import { ONE_BY_ONE } from "../engine/window-part.ts";
import { MigrationError, orNull } from "../lib/error.ts";
import { type JsonObject, objectOf, parsedJson } from "../lib/json.ts";
import type { ManageClients } from "../migrate/open/services.ts";
import type { ManageRequest, RunningNode } from "../model/ironic/manage.ts";
import { schemaFaults } from "../model/json-schema/faults.ts";
import {
  CLOSED,
  ironicFault as fault,
  jsonReply,
  listReply,
  mediaFault,
  type Reply,
  type ServedRequest,
  unauthorized,
} from "../model/served.ts";
import type { RunSession } from "../run/session.ts";
import { type Asking, asCaller, type Callers, whose } from "../serving/caller.ts";
import type { openPolicy } from "../serving/policy-file.ts";
import { readAllocation } from "../systems/ironic-api/allocation.ts";
import { readNics, readRunning, runningNodes } from "../systems/ironic-api/running.ts";
import { portsOfVifs } from "./adoptable.ts";
import type { Adapter } from "./manage-adapter.ts";
import { type ManageEvent, manageOne, type Notify, takeBack } from "./manage-perform.ts";
import { managedIn } from "./manage-run.ts";
import { rejectionReasons } from "./rules/criteria.ts";
import { requestFaults, zoneFault } from "./rules/request.ts";
import {
  adoptableNode,
  deniedText,
  faultIn,
  MANAGEABLE_RULES,
  manageRequestOf,
  requestedActionOf,
  savedRequest,
  serverBody,
  statusOf,
  VALIDATES,
} from "./rules/served.ts";

interface ManageableParts {
  readonly clients: ManageClients;
  readonly session: RunSession;
  /** Null: this Ironic cannot create allocations of nodes in use. */
  readonly adapter: Adapter | null;
  readonly allows: ReturnType<typeof openPolicy>["allows"];
}

/** Answers the requests of the specification. A refused request reads and writes nothing. */
export function manageableAnswer(
  parts: ManageableParts,
  callers: Callers,
  notify: Notify,
): (call: ServedRequest) => Promise<Reply> {
  const busy = new Set<string>();
  return async (request) => {
    const who = await whose(callers, request);
    if ("status" in who) return who;
    const action = requestedActionOf(request.method, request.path);
    if (action.do === "nowhere") return fault(404, "The resource could not be found.");
    const { owner } = who.cached;
    if (!parts.allows(MANAGEABLE_RULES[action.do], owner)) return fault(403, deniedText(action.do));
    return asCaller(
      callers,
      parts.clients.service,
      { ...who, request },
      (at) => {
        if (action.do === "list") return adoptableReply(parts, at);
        return action.do === "show"
          ? showReply(parts, at, action.server)
          : manageReply(parts, at, busy, notify);
      },
      ({ message }, refused) => {
        // Without a token, the service's own access is refused.
        if (refused === 401 && who.token !== null) return unauthorized(callers.keystone, message);
        return fault(refused === 403 && who.token !== null ? 403 : 503, message);
      },
    );
  };
}

async function adoptableReply({ clients }: ManageableParts, { service }: Asking): Promise<Reply> {
  const existingNics = readNics(service);
  const pendingFacts = portsOfVifs(existingNics, clients.network);
  const pages = runningNodes(service, existingNics, pendingFacts, { all: false });
  const portFacts = await pendingFacts;
  const { url } = service.session;
  // Reads the first page now, so that an error can set the status.
  let page = await pages.next();
  async function* adoptable(): AsyncGenerator<readonly JsonObject[]> {
    for (; page.done !== true; page = await pages.next())
      yield page.value
        .filter((node) => rejectionReasons(node, portFacts).length === 0)
        // A request must name a network.
        .filter(({ nics }) => nics.some(({ vif }) => vif !== null))
        .map((node) => adoptableNode(node, url));
  }
  return listReply("adoptable_nodes", adoptable());
}

async function manageReply(
  parts: ManageableParts,
  at: Asking,
  busy: Set<string>,
  notify: Notify,
): Promise<Reply> {
  const media = mediaFault(at.request.fields);
  if (media !== null) return fault(415, media);
  const sent = parsedJson(at.request.body.toString("utf8"));
  const faults = schemaFaults(VALIDATES, sent);
  if (faults.length > 0) return fault(400, faults.join("; "));
  const body = objectOf(sent);
  const request = manageRequestOf(body);
  const wrong = [
    ...requestFaults(request),
    ...[zoneFault(request.availability_zone, request.node) ?? []].flat(),
  ];
  if (wrong.length > 0) return fault(400, wrong.join("; "));
  if (parts.adapter === null)
    return fault(501, "This Ironic cannot create an allocation for a node in use.");
  const { node: id } = request;
  const { adapter } = parts;
  return announced(notify, request, async (announce) => {
    if (busy.has(id)) return fault(409, `Node ${id} is being managed.`);
    busy.add(id);
    try {
      const node = await readRunning(at.service, id);
      if (node === null) return fault(404, `Node ${id} could not be found.`);
      const foreign = await portFault(parts.clients, node, request.ports);
      return foreign ?? (await managed({ ...parts, adapter, notify: announce }, at, node, request));
    } finally {
      busy.delete(id);
    }
  });
}

/** A request to manage has one start and one end event, regardless of its result. */
async function announced(
  notify: Notify,
  { node, name }: ManageRequest,
  work: (notify: Notify) => Promise<Reply>,
): Promise<Reply> {
  const heard = new Set<ManageEvent["event"]>();
  const ended = (reason: string): void => {
    const about = { node, name, server: null };
    if (heard.size === 0) notify({ event: "manage.start", ...about });
    if (heard.size < 2) notify({ event: "manage.error", ...about, why: reason });
  };
  try {
    const reply = await work((event) => {
      heard.add(event.event);
      notify(event);
    });
    ended(faultIn(reply));
    return reply;
  } catch (cause) {
    ended(cause instanceof MigrationError ? `${cause.code} ${cause.message}` : "a fault");
    throw cause;
  }
}

async function managed(
  { adapter, session, notify, clients }: ManageableParts & { adapter: Adapter; notify: Notify },
  { owner: { user_id, project_id }, request: { isClosed } }: Asking,
  node: RunningNode,
  body: ManageRequest,
): Promise<Reply> {
  const server = randomUUID();
  const request = { ...body, owner: { user_id, project_id } };
  const image = await imageOf(clients, node);
  if (isClosed()) return fault(400, CLOSED);
  const before = await takenBack(adapter, node, session);
  if (before !== null) return fault(503, before);
  const { row, broke, last, hasLeftovers } = await manageOne(
    adapter,
    { id: node.uuid, server, request, acts: [] },
    session,
    notify,
  );
  if (broke !== null) return fault(503, broke.message);
  if (row === undefined) return fault(503, "The service is shutting down.");
  if (row.outcome !== "managed") {
    const message = `The bare metal node ${node.uuid} is not allowed to be managed: ${row.reason}`;
    return fault(hasLeftovers ? 503 : statusOf(last?.rejectionKinds ?? []), message);
  }
  const { record = null, ports = null } = last?.view ?? {};
  const created_at = record?.created_at ?? session.now();
  const made = serverBody(node, {
    ...{ uuid: server, request, image, created_at, updated_at: record?.updated_at ?? created_at },
    ports: ports ?? new Map<string, never>(),
  });
  return jsonReply(201, made, { Location: `/v1/servers/${server}` });
}

async function showReply(
  { clients }: ManageableParts,
  { service }: Asking,
  uuid: string,
): Promise<Reply> {
  const record = await readAllocation(service, uuid);
  const request = record === null ? null : savedRequest(record.name, record.extra);
  const node =
    request === null || record?.node_uuid == null
      ? null
      : await readRunning(service, record.node_uuid);
  if (record === null || request === null || node?.instance_uuid !== uuid)
    return fault(404, `Server ${uuid} could not be found.`);
  const vifs = new Set(node.nics.flatMap(({ vif }) => vif ?? []));
  const neutron = vifs.size === 0 ? null : await clients.network();
  const { created_at } = record;
  const body = serverBody(node, {
    ...{ uuid, request, image: await imageOf(clients, node) },
    ...{ created_at, updated_at: record.updated_at ?? created_at },
    ports: (await neutron?.ports(vifs)) ?? new Map<string, never>(),
  });
  return jsonReply(200, body);
}

/** Rolls back an unfinished or deleted earlier record. @returns null, or the reason of a failure */
async function takenBack(
  adapter: Adapter,
  { uuid: id }: RunningNode,
  session: RunSession,
): Promise<string | null> {
  const before = managedIn(session.journal.entries()).get(id);
  if (before === undefined) return null;
  const { node, record } = await adapter.read(before.change);
  const isRetained = record !== null || node?.instance_uuid === before.change.server;
  if (!before.open && isRetained) return null;
  const isIt = (one: string): boolean => one === id;
  const { leftovers, broke } = await takeBack(adapter, isIt, session, ONE_BY_ONE, isIt);
  // A port that another server now uses is kept.
  return broke === null
    ? null
    : `${broke.message}${leftovers.size > 0 ? `: ${leftovers.get(id) ?? ""}` : ""}`;
}

/** The image of the node in Glance. An unreachable Glance does not fail the request. */
async function imageOf(
  { images }: ManageClients,
  { instance_info: { image_source } }: RunningNode,
): Promise<string | null> {
  if (typeof image_source !== "string") return null;
  const found = images().then((glance) => glance?.find(image_source) ?? null);
  return orNull(found, "N2I-E106", "N2I-E202", "N2I-E210", "N2I-E211", "N2I-E212");
}

/** The reason why the ports do not belong to the node, or null. */
async function portFault(
  clients: ManageClients,
  { uuid, nics }: RunningNode,
  ids: readonly string[],
): Promise<Reply | null> {
  const neutron = await clients.network();
  if (neutron === null) return fault(503, "No endpoint of Neutron is known.");
  const ports = await neutron.ports(new Set(ids));
  const addresses = nics.flatMap(({ address }) => address ?? []);
  const missing = ids.find((id) => !ports.has(id));
  if (missing !== undefined) return fault(404, `Port ${missing} could not be found.`);
  for (const { id, mac_address } of ids.flatMap((one) => ports.get(one) ?? [])) {
    if (!addresses.includes(mac_address))
      return fault(
        409,
        `Port ${id} has MAC ${mac_address}, and node ${uuid} ${addresses.join(", ")}.`,
      );
    if (!nics.some(({ vif }) => vif === id))
      return fault(409, `Port ${id} is not attached to node ${uuid}.`);
  }
  return null;
}
