import { randomUUID } from "node:crypto";
import { ONE_BY_ONE } from "../engine/window-part.ts";
import { MigrationError, orNull } from "../lib/error.ts";
import { objectOf, parsedJson } from "../lib/json.ts";
import type { ManageClients } from "../migrate/open/services.ts";
import type { RunningNode } from "../model/ironic/adoptable.ts";
import type { ManageRequest } from "../model/ironic/manage.ts";
import { schemaFaults } from "../model/json-schema/faults.ts";
import {
  ironicFault as fault,
  GONE,
  jsonReply,
  mediaFault,
  type Reply,
  type ServedRequest,
  type TokenOwner,
  unauthorized,
} from "../model/served.ts";
import type { RunSession } from "../run/session.ts";
import { whose } from "../serving/caller.ts";
import { callersService } from "../serving/callers-service.ts";
import type { Tokens } from "../serving/tokens.ts";
import { readAllocation } from "../systems/ironic-api/allocation.ts";
import { readNics, readRunning, runningNodes } from "../systems/ironic-api/running.ts";
import type { RestService } from "../systems/ironic-api/service.ts";
import type { Http } from "../systems/openstack/http.ts";
import { portsOfVifs } from "./adoptable.ts";
import type { Adapter } from "./manage-adapter.ts";
import { type ManageEvent, manageOne, type Notify, takeBack } from "./manage-perform.ts";
import { managedIn } from "./manage-run.ts";
import { whyNot } from "./rules/criteria.ts";
import { zoneFault } from "./rules/nova.ts";
import { requestFaults } from "./rules/request.ts";
import {
  adoptableNode,
  deniedText,
  faultIn,
  type MANAGEABLE_RULES,
  manageRequestOf,
  requestedActionOf,
  savedRequest,
  serverBody,
  statusOf,
  VALIDATES,
} from "./rules/served.ts";

interface ManageableParts {
  readonly http: Http;
  readonly tokens: Tokens | null;
  readonly keystone: string;
  readonly place: ManageClients;
  readonly session: RunSession;
  /** Null: this Ironic cannot create allocations of nodes in use. */
  readonly adapter: Adapter | null;
  readonly allows: (rule: keyof typeof MANAGEABLE_RULES, who: TokenOwner) => boolean;
  readonly notify: Notify;
}

/** The caller, and Ironic with the caller's token. */
interface Asking {
  readonly parts: ManageableParts;
  readonly owner: TokenOwner;
  readonly service: RestService;
  readonly asked: ServedRequest;
}

/** Answers the requests of the specification. A refused request reads and writes nothing. */
export function manageableAnswer(parts: ManageableParts): (asked: ServedRequest) => Promise<Reply> {
  const busy = new Set<string>();
  return async (asked) => {
    const who = await whose(parts, asked);
    if ("status" in who) return who;
    const wanted = requestedActionOf(asked.method, asked.path);
    if (wanted.do === "nowhere") return fault(404, "The resource could not be found.");
    const { owner } = who.known;
    if (!parts.allows(wanted.do, owner)) return fault(403, deniedText(wanted.do));
    // Refusals of the caller's own token, not of the service's login.
    const refusals: (401 | 403)[] = [];
    const { token } = who;
    const at: Asking = {
      ...{ parts, owner, asked },
      service: callersService(parts.http, parts.place.service, asked, token, (status) => {
        if (token === null) return;
        if (status === 401) parts.tokens?.forget(token);
        refusals.push(status);
      }),
    };
    try {
      switch (wanted.do) {
        case "list":
          return await listReply(at);
        case "manage":
          return await manageReply(at, busy);
        case "show":
          return await showReply(at, wanted.server);
      }
    } catch (error) {
      if (!(error instanceof MigrationError)) throw error;
      if (refusals.includes(401)) return unauthorized(parts.keystone, error.message);
      return fault(refusals.includes(403) ? 403 : 503, error.message);
    }
  };
}

async function listReply({ parts, service }: Asking): Promise<Reply> {
  const cards = readNics(service);
  const asked = portsOfVifs(cards, parts.place.network);
  const pages = runningNodes(service, cards, asked, { all: false });
  const portFacts = await asked;
  const { url } = service.session;
  // Reads the first page now, so that an error can set the status.
  let page = await pages.next();
  async function* body(): AsyncGenerator<string> {
    let before = '{"adoptable_nodes": [';
    for (; page.done !== true; page = await pages.next()) {
      const fits = page.value.filter((node) => whyNot(node, portFacts).length === 0);
      const told = fits
        // A request must name a network.
        .filter(({ nics }) => nics.some(({ vif }) => vif !== null))
        .map((node) => JSON.stringify(adoptableNode(node, url)));
      if (told.length === 0) continue;
      yield before + told.join(", ");
      before = ", ";
    }
    yield before === ", " ? "]}" : `${before}]}`;
  }
  return { status: 200, fields: { "Content-Type": "application/json" }, body: body() };
}

async function manageReply(at: Asking, busy: Set<string>): Promise<Reply> {
  const { parts, service } = at;
  const media = mediaFault(at.asked.fields);
  if (media !== null) return fault(415, media);
  const sent = parsedJson(at.asked.body.toString("utf8"));
  const faults = schemaFaults(VALIDATES, sent);
  if (faults.length > 0) return fault(400, faults.join("; "));
  const body = objectOf(sent);
  const asked = manageRequestOf(body);
  const wrong = [
    ...requestFaults(asked),
    ...[zoneFault(asked.availability_zone, asked.node) ?? []].flat(),
  ];
  if (wrong.length > 0) return fault(400, wrong.join("; "));
  if (parts.adapter === null)
    return fault(501, "This Ironic cannot create an allocation for a node in use.");
  const { node: id } = asked;
  const { adapter } = parts;
  return announced(parts.notify, asked, async (notify) => {
    if (busy.has(id)) return fault(409, `Node ${id} is being managed.`);
    busy.add(id);
    try {
      const node = await readRunning(service, id);
      if (node === null) return fault(404, `Node ${id} could not be found.`);
      const foreign = await portFault(at, node, asked.ports);
      return (
        foreign ?? (await managed({ ...at, parts: { ...parts, notify } }, adapter, node, asked))
      );
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
  const ended = (why: string): void => {
    const about = { node, name, server: null };
    if (heard.size === 0) notify({ event: "manage.start", ...about });
    if (heard.size < 2) notify({ event: "manage.error", ...about, why });
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
  { parts, owner: { user_id, project_id }, asked: { gone } }: Asking,
  adapter: Adapter,
  node: RunningNode,
  asked: ManageRequest,
): Promise<Reply> {
  const { session, notify, place } = parts;
  const server = randomUUID();
  const image = await imageOf(place, node);
  if (gone()) return fault(400, GONE);
  const before = await takenBack(adapter, node, session);
  if (before !== null) return fault(503, before);
  const { row, broke, last, stays } = await manageOne(
    adapter,
    { id: node.uuid, server, asked: { ...asked, owner: { user_id, project_id } }, acts: [] },
    session,
    notify,
  );
  if (broke !== null) return fault(503, broke.message);
  if (row === undefined) return fault(503, "The service is shutting down.");
  if (row.became !== "managed") {
    const said = `The bare metal node ${node.uuid} is not allowed to be managed: ${row.why}`;
    return fault(stays ? 503 : statusOf(last?.hindrances ?? []), said);
  }
  const { record = null, ports = null } = last?.seen ?? {};
  const created_at = record?.created_at ?? session.now();
  const made = serverBody(node, {
    ...{ uuid: server, asked: { ...asked, owner: { user_id, project_id } }, image },
    ...{ created_at, updated_at: record?.updated_at ?? created_at },
    ports: ports ?? new Map<string, never>(),
  });
  return jsonReply(201, made, { Location: `/v1/servers/${server}` });
}

async function showReply({ parts, service }: Asking, uuid: string): Promise<Reply> {
  const record = await readAllocation(service, uuid);
  const asked = record === null ? null : savedRequest(record.name, record.extra);
  const node =
    asked === null || record?.node_uuid == null
      ? null
      : await readRunning(service, record.node_uuid);
  if (record === null || asked === null || node?.instance_uuid !== uuid)
    return fault(404, `Server ${uuid} could not be found.`);
  const vifs = new Set(node.nics.flatMap(({ vif }) => vif ?? []));
  const neutron = vifs.size === 0 ? null : await parts.place.network();
  const { created_at } = record;
  const shown = serverBody(node, {
    ...{ uuid, asked, image: await imageOf(parts.place, node) },
    ...{ created_at, updated_at: record.updated_at ?? created_at },
    ports: (await neutron?.ports(vifs)) ?? new Map<string, never>(),
  });
  return jsonReply(200, shown);
}

/** Rolls back an unfinished or deleted earlier record. @returns null, or the reason of a failure */
async function takenBack(
  adapter: Adapter,
  { uuid: id }: RunningNode,
  session: RunSession,
): Promise<string | null> {
  const before = managedIn(session.journal.entries()).get(id);
  if (before === undefined) return null;
  const { node, record } = await adapter.look(before.change);
  const isRetained = record !== null || node?.instance_uuid === before.change.server;
  if (!before.open && isRetained) return null;
  const isIt = (one: string): boolean => one === id;
  const { stays, broke } = await takeBack(adapter, isIt, session, ONE_BY_ONE, isIt);
  // A port that another server uses since is kept.
  return broke === null
    ? null
    : `${broke.message}${stays.size > 0 ? `: ${stays.get(id) ?? ""}` : ""}`;
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
  { parts: { place } }: Asking,
  { uuid, nics }: RunningNode,
  ids: readonly string[],
): Promise<Reply | null> {
  const neutron = await place.network();
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
