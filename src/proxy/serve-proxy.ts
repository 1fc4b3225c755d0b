import { MigrationError } from "../lib/error.ts";
import { objectOf } from "../lib/json.ts";
import {
  faultReply,
  jsonReply,
  listReply,
  type Reply,
  type ServedRequest,
  unauthorized,
} from "../model/served.ts";
import { processContext } from "../run/process-context.ts";
import { openPlan, PLAN } from "../run/run.ts";
import { ironicFor, openCallers, ranges, unanswered, whose } from "../serving/caller.ts";
import { openPolicy } from "../serving/policy-file.ts";
import {
  type Ident,
  listQuestion,
  pageOf,
  portsQuestion,
  type Question,
  type Range,
  rangeOf,
  showQuestion,
} from "../serving/rules/upstream.ts";
import {
  checkLoopback,
  type ServeOptions,
  type ServeReport,
  serveUntilStopped,
  signalsOf,
} from "../serving/serve.ts";
import { MAXIMUM, MINIMUM } from "../systems/ironic-api/service.ts";
import { openHttp } from "../systems/openstack/http.ts";
import { BAREMETAL } from "../systems/openstack/kinds.ts";
import { type Answer, serviceUrl } from "../systems/openstack/session.ts";
import { decide, MOUNT, REQUESTED, unknownNode } from "./rules/decide.ts";
import { listedNode, nodeView } from "./rules/nodes.ts";

export interface ProxyOptions extends ServeOptions {
  readonly ironicUrl?: string;
  readonly fromCatalog: boolean;
  readonly interface: "public" | "internal" | "admin";
  readonly region?: string;
  readonly osCacert?: string;
  /** Seconds. */
  readonly apiTimeout: number;
  readonly novaCompat: boolean;
  readonly run?: string;
}

/**
 * Serves os-baremetal-nodes until a signal stops it: validates the caller's token, applies the rules,
 * and reads from Ironic with the same token.
 *
 * @throws MigrationError N2I-E100, N2I-E109, N2I-E110, N2I-E116 to N2I-E118
 */
export async function serveProxy(options: ProxyOptions, output: ServeReport): Promise<void> {
  checkLoopback(options);
  const { ironicUrl, fromCatalog, interface: face, region, run, novaCompat } = options;
  const policy = openPolicy(options.policyFile, Object.values(REQUESTED));
  const interrupt = processContext().onInterrupt(signalsOf(policy, output));
  try {
    const numbers = run === undefined ? new Map<number, string>() : await numbersOf(run);
    const ironic =
      ironicUrl === undefined ? null : serviceUrl(ironicUrl, "--ironic-url", BAREMETAL);
    const tls = { cacert: options.osCacert ?? null, cert: null, key: null, insecure: false };
    const http = openHttp(tls, options.apiTimeout * 1000);
    const catalog = { interface: face, region: region ?? null, types: BAREMETAL.types };
    const callers = openCallers(http, options, fromCatalog ? catalog : null);
    const { keystone, tokens } = callers;
    const rules = { allows: policy.allows, novaCompat, scoped: tokens !== null, numbers };
    const versions = ranges(http);
    const answer = async (request: ServedRequest): Promise<Reply> => {
      const who = await whose(callers, request);
      if ("status" in who) return who;
      const { token, cached } = who;
      const decision = decide(request, cached.owner, rules);
      if ("status" in decision) return decision;
      const found = ironic ?? cached.endpoint;
      if (found === null)
        throw new MigrationError(
          "N2I-E106",
          "the catalog of this token has no such baremetal endpoint",
        );
      const url = serviceUrl(found, "the catalog", BAREMETAL);
      const at: IronicRequest = {
        ironic: ironicFor(http, url, request, token),
        range: await versions.of(url),
        ...{ keystone, fields: decision.fields },
        refused(what) {
          if (what === "version") versions.forget(url);
          else if (token !== null) tokens?.forget(token);
        },
      };
      return decision.do === "list" ? nodesReply(at) : showReply(at, decision.ident, decision.id);
    };
    const upstream = (): Promise<string> => {
      for (const name of ignored())
        output.report(
          `${name} is ignored: the proxy has no credentials and sends each caller's token to Ironic.`,
        );
      return Promise.race([ironicVersionText(ironic, versions), stopped(interrupt.signal)]);
    };
    const api = { path: MOUNT, answer, policy, upstream };
    await serveUntilStopped(options, output, interrupt, http, api);
  } finally {
    interrupt.end();
  }
}

/** bm_nodes.id -> uuid, from the plan of the run. */
async function numbersOf(run: string): Promise<ReadonlyMap<number, string>> {
  const numbers = new Map<number, string>();
  for await (const batch of (await openPlan(`${run}/${PLAN}`)).lines())
    for (const { bm_node_id, uuid } of batch) if (uuid !== null) numbers.set(bm_node_id, uuid);
  return numbers;
}

/** Names of variables with a secret that the operator may expect to be used. */
function ignored(): readonly string[] {
  // Only names are read, never the values.
  return Object.keys(processContext().env).filter((name) =>
    /^OS_(?:\w*PASSWORD|\w*SECRET|\w*TOKEN)$/.test(name),
  );
}

/** Ironic may not answer before the timeout of a call. */
function stopped(stop: AbortSignal): Promise<string> {
  const message = "Ironic, whose versions were not read";
  return new Promise((resolve) => {
    if (stop.aborted) resolve(message);
    stop.addEventListener("abort", () => resolve(message), { once: true });
  });
}

/** Ironic may start later, so a failure here is only reported. */
async function ironicVersionText(
  ironic: string | null,
  versions: ReturnType<typeof ranges>,
): Promise<string> {
  if (ironic === null) return "Ironic from the catalog of each token";
  try {
    const range = await versions.of(ironic);
    return `Ironic ${ironic} ${range === null ? "of Juno" : `1.${range.least}-1.${range.most}`}`;
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    return `Ironic ${ironic} (not now: ${error.message})`;
  }
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

type Page = NonNullable<ReturnType<typeof pageOf>>;

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
