import { MigrationError } from "../lib/error.ts";
import { isObject, type Json, objectOf, textOrNull } from "../lib/json.ts";
import {
  faultReply,
  jsonReply,
  listReply,
  type Reply,
  type ServedRequest,
  unauthorized,
} from "../model/served.ts";
import { type Callers, whose } from "../serving/caller.ts";
import { ironicFor } from "../serving/for-caller.ts";
import type { Ident } from "../serving/rules/ident.ts";
import {
  listQuestion,
  pageOf,
  portsQuestion,
  type Question,
  type Range,
  rangeOf,
  showQuestion,
} from "../serving/rules/upstream.ts";
import { type ranges, unanswered } from "../serving/versions.ts";
import { MAXIMUM, MINIMUM } from "../systems/ironic-api/service.ts";
import type { Http } from "../systems/openstack/http.ts";
import { BAREMETAL } from "../systems/openstack/kinds.ts";
import { type Answer, serviceUrl } from "../systems/openstack/session.ts";
import { decide, type ProxyRules, unknownNode } from "./rules/decide.ts";

type Page = NonNullable<ReturnType<typeof pageOf>>;

export interface ProxyParts extends Callers {
  readonly http: Http;
  /** Null: the URL is in the catalog of the caller's token. */
  readonly ironic: string | null;
  readonly ranges: ReturnType<typeof ranges>;
  readonly rules: () => ProxyRules;
}

/** Validates the token, applies the proxy's rules, and reads from Ironic with the same token. */
export function proxyAnswer(proxy: ProxyParts): (request: ServedRequest) => Promise<Reply> {
  return async (request) => {
    const who = await whose(proxy, request);
    if ("status" in who) return who;
    const { token, cached } = who;
    const decision = decide(request, cached.owner, proxy.rules());
    if ("status" in decision) return decision;
    const found = proxy.ironic ?? cached.endpoint;
    if (found === null)
      throw new MigrationError(
        "N2I-E106",
        "the catalog of this token has no such baremetal endpoint",
      );
    const url = serviceUrl(found, "the catalog", BAREMETAL);
    const at: IronicRequest = {
      ironic: ironicFor(proxy.http, url, request, token),
      range: await proxy.ranges.of(url),
      keystone: proxy.keystone,
      fields: decision.fields,
      refused(what) {
        if (what === "version") proxy.ranges.forget(url);
        else if (token !== null) proxy.tokens?.forget(token);
      },
    };
    return decision.do === "list" ? nodesReply(at) : showReply(at, decision.ident, decision.id);
  };
}

/** The clients and facts of one request to Ironic. */
interface IronicRequest {
  readonly ironic: ReturnType<typeof ironicFor>;
  readonly range: Range;
  /** Drops a cached token or microversion range that Ironic no longer accepts. */
  readonly refused: (what: "token" | "version") => void;
  /** Keystone's URL, which a 401 names. */
  readonly keystone: string;
  readonly fields: Reply["fields"];
}

/** Markers tried for the next page, because a listed node may have been deleted. */
const TRIED = 20;

/** Streams all nodes. The next page is requested after the previous one was sent. */
async function nodesReply(at: IronicRequest): Promise<Reply> {
  const first = await put(at, listQuestion(at.range, null));
  const page = first.status === 200 ? pageOf(first.body, "nodes") : null;
  if (page === null) return refusedBy(first, at);
  return listReply("nodes", nodes(at, page), at.fields);
}

async function* nodes(at: IronicRequest, first: Page): AsyncGenerator<readonly object[]> {
  const view = new Set<unknown>();
  for (let page: Page | null = first; page !== null; page = await pageAfter(at, page)) {
    const { uuid } = objectOf(page.items[0]);
    if (page.items.length > 0 && view.has(uuid)) throw brokeOff("Ironic lists the same page again");
    view.add(uuid);
    yield page.items.map(nodeOf);
  }
}

function nodeOf(item: unknown): object {
  const node = listedNode(item);
  if (node === null)
    throw new MigrationError("N2I-E212", "Ironic lists an object that is not a node");
  return node;
}

/**
 * If the marker node was deleted, an earlier node of the page leads to the same next page.
 *
 * @returns null after the last page
 * @throws MigrationError N2I-E210 if no node of the page is left
 */
async function pageAfter(at: IronicRequest, { items, more }: Page): Promise<Page | null> {
  if (!more || items.length === 0) return null;
  let reason = "all nodes on a page were deleted";
  for (const item of items.slice(-TRIED).toReversed()) {
    const marker = String(objectOf(item).uuid);
    const answer = await put(at, listQuestion(at.range, marker));
    const page = answer.status === 200 ? pageOf(answer.body, "nodes") : null;
    if (page !== null) return page;
    reason = answer.fault || `it answers ${answer.status}`;
    if (answer.status !== 404) break;
  }
  throw brokeOff(reason);
}

function brokeOff(reason: string): MigrationError {
  return new MigrationError("N2I-E210", `the list of nodes is incomplete: ${reason}`);
}

/** @param id as in the caller's path */
async function showReply(at: IronicRequest, ident: Ident, id: string): Promise<Reply> {
  const question = showQuestion(at.range, ident);
  if (question === null) return unknownNode(id, at.fields);
  const answer = await put(at, question);
  // 400: this Ironic does not accept the text as a node name.
  const unnameable =
    answer.status === 400 && ident.is === "name" && "error_message" in objectOf(answer.body);
  if (answer.status === 404 || unnameable) return unknownNode(id, at.fields);
  const { uuid } = objectOf(answer.body);
  if (answer.status !== 200 || typeof uuid !== "string") return refusedBy(answer, at);
  const ports: unknown[] = [];
  const markers = new Set<string>();
  for (let marker: string | null = null; ; ) {
    const request = await put(at, portsQuestion(at.range, uuid, marker));
    if (request.status === 404 && marker === null) return unknownNode(id, at.fields);
    const page = request.status === 200 ? pageOf(request.body, "ports") : null;
    if (page === null) return refusedBy(request, at);
    for (const port of page.items) ports.push(port);
    if (!page.more || page.items.length === 0) break;
    marker = page.marker;
    if (marker === null || markers.has(marker))
      return unavailable("it lists the same ports again", at);
    markers.add(marker);
  }
  return jsonReply(200, { node: nodeView(answer.body, ports) }, at.fields);
}

async function put(at: IronicRequest, { path, minor }: Question): Promise<Answer> {
  const answer = await at.ironic.ask(path, minor);
  if (answer.status === 401) at.refused("token");
  // Several Ironic services may share one URL, so the range is read from this response.
  const range = rangeOf(answer.headers[MINIMUM], answer.headers[MAXIMUM], null) ?? at.range;
  const other = range?.least !== at.range?.least || range?.most !== at.range?.most;
  // 406, or a microversion fault: the service's range has changed.
  if (other || answer.status === 406 || /microversion/.test(answer.fault)) at.refused("version");
  // The request had no microversion, so this response does not have the expected format.
  return other && at.range === null
    ? { ...answer, status: 0, body: null, fault: "its responses have microversion headers now" }
    : answer;
}

/** Passes on a refusal (401, 403) of Ironic. Every other failure is a 503. */
function refusedBy(answer: Answer, at: IronicRequest): Reply {
  const { status, fault } = answer;
  const reason = fault.replace(/^\d{3} ?/, "");
  if (status === 401) return unauthorized(at.keystone, reason || undefined, at.fields);
  if (status === 403) return faultReply(403, reason || "Ironic refuses it.", at.fields);
  return unavailable(status >= 300 ? `it answered ${fault}` : fault, at);
}

function unavailable(reason: string, { fields }: IronicRequest): Reply {
  const message = reason === "" ? "Ironic sent an unexpected answer" : unanswered("Ironic", reason);
  return faultReply(503, message, fields);
}

/**
 * A listed node in the format of Nova's proxy since Juno. Null if Ironic's item is not a node.
 *
 * @source nova@2014.2 api/openstack/compute/contrib/baremetal_nodes.py; tempest's response schema
 */
export function listedNode(node: unknown) {
  if (!isObject(node) || typeof node.uuid !== "string") return null;
  const properties = isObject(node.properties) ? node.properties : {};
  return {
    id: node.uuid,
    interfaces: [] as readonly { readonly address: string }[],
    host: "IRONIC MANAGED",
    task_state:
      node.provision_state === "inspect wait" ? "inspecting" : textOrNull(node.provision_state),
    cpus: size(properties.cpus),
    memory_mb: size(properties.memory_mb),
    disk_gb: size(properties.local_gb),
  };
}

/** @param ports in the order of Ironic's list */
export function nodeView(node: unknown, ports: readonly unknown[]) {
  const listed = listedNode(node);
  if (listed === null || !isObject(node)) return null;
  const interfaces = ports.flatMap((port) =>
    isObject(port) && typeof port.address === "string" ? [{ address: port.address }] : [],
  );
  return { ...listed, interfaces, instance_uuid: textOrNull(node.instance_uuid) };
}

/** A size of another type is 0, like a missing one. */
function size(value: Json | undefined): number | string {
  return typeof value === "number" || typeof value === "string" ? value : 0;
}
