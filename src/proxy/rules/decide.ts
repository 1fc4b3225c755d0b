import { objectOf, parsedJson } from "../../lib/json.ts";
import {
  decoded,
  faultReply,
  type HeaderFields,
  jsonReply,
  type Reply,
  type ServedRequest,
  type TokenOwner,
} from "../../model/served.ts";
import type { RequestedRule } from "../../serving/rules/policy.ts";
import { type Ident, identOf } from "../../serving/rules/upstream.ts";

const ROOT = "os_compute_api:os-baremetal-nodes";

/**
 * The policy rules that Nova checks for this API. Comments name the releases of a rule.
 *
 * @source nova juno through stable/2026.1, policies/baremetal_nodes.py
 */
export const REQUESTED = { list: requestedRule("list"), show: requestedRule("show") } as const;

function requestedRule(action: "list" | "show"): RequestedRule {
  const today = `${ROOT}:${action}`;
  return {
    names: [
      today,
      // Kilo through Ussuri, then deprecated.
      ROOT,
      // The v2 API, Juno through Mitaka.
      "compute_extension:baremetal_nodes",
    ],
    inCode: {
      [today]: "rule:context_is_admin or rule:admin_api",
      [ROOT]: "rule:admin_api", // Newton through Ussuri
      [`${ROOT}:discoverable`]: "@", // Newton, Ocata
    },
  };
}

interface ProxyRules {
  readonly allows: (rule: RequestedRule, who: TokenOwner) => boolean;
  /** Refuse writes with Nova's own messages instead of the 404 of the upgrade specification. */
  readonly novaCompat: boolean;
  /** Whether the project in the path must match the token's project. */
  readonly scoped: boolean;
  /** bm_nodes.id -> uuid. */
  readonly numbers: ReadonlyMap<number, string>;
}

/** Only `list` and `show` need a request to Ironic. */
type ProxyDecision =
  | Reply
  | { readonly do: "list"; readonly fields: Reply["fields"] }
  | {
      readonly do: "show";
      readonly ident: Ident;
      /** As in the caller's path. */
      readonly id: string;
      readonly fields: Reply["fields"];
    };

/** Nova's message for an unknown route, API or resource. */
const NOT_FOUND = "The resource could not be found.";

export function decide(request: ServedRequest, who: TokenOwner, rules: ProxyRules): ProxyDecision {
  const route = locationOf(request.method, request.path);
  if (route === null || route.wanted.do === "nowhere") return nowhere();
  if (route.wanted.do === "options") return { status: 200, fields: {}, body: "" };
  const agreed = route.version === "v2" ? null : negotiatedOf(request.fields);
  const { version } = agreed ?? {};
  const fields: Reply["fields"] =
    version === undefined
      ? {}
      : { [MODERN]: `compute ${version}`, [LEGACY]: version, Vary: [MODERN, LEGACY] };
  if (agreed?.is === "malformed") return faultReply(400, malformed(agreed.version));
  if (agreed?.is === "unknown") {
    const reason = `Version ${agreed.version} is not supported by the API. Minimum is ${FIRST} and maximum is 2.${LAST}.`;
    return faultReply(406, reason);
  }
  const write = refusedWrite(route.wanted, request, rules, fields);
  if (write?.first === true) return write.reply;
  return (
    refusedProject(route, who, rules, fields) ??
    (agreed?.is === "gone" ? faultReply(404, NOT_FOUND, fields) : null) ??
    write?.reply ??
    allowed(route.wanted, who, rules, fields)
  );
}

export function unknownNode(id: string, fields: Reply["fields"]): Reply {
  return faultReply(404, `Node ${id} could not be found.`, fields);
}

/** In webob's format: Nova's router, not a controller, refuses such a path. */
function nowhere(): Reply {
  const message = `${NOT_FOUND}<br /><br />\n\n\n`;
  return jsonReply(404, { message, code: "404 Not Found", title: "Not Found" });
}

function malformed(version: string): string {
  return `API Version String ${version} is of invalid format. Must be of format MajorNum.MinorNum.`;
}

/**
 * The upgrade specification requires 404 for every body and role. Nova itself answers 400.
 *
 * @returns `first`: this refusal precedes the checks of version and project
 * @source nova@26.2.2 api/openstack/compute/baremetal_nodes.py, api/openstack/wsgi.py action_peek, _process_stack
 */
function refusedWrite(
  { do: action }: NodeCommand,
  { body }: ServedRequest,
  { novaCompat }: ProxyRules,
  fields: Reply["fields"],
): { readonly reply: Reply; readonly first: boolean } | null {
  if (action !== "create" && action !== "delete" && action !== "action") return null;
  if (!novaCompat) return { reply: faultReply(404, NOT_FOUND, fields), first: true };
  const name = action === "action" ? actionOf(body.toString("utf8")) : null;
  const instead = action === "action" ? ACTIONS.get(name ?? "") : `node-${action}`;
  const unknown = name === null ? "Malformed request body" : `There is no such action: ${name}`;
  const message =
    instead === undefined
      ? unknown
      : `Command Not supported. Please use Ironic command ${instead} to perform this action.`;
  return { reply: faultReply(400, message, fields), first: instead === undefined };
}

function refusedProject(
  { project }: NodeRoute,
  { project_id }: TokenOwner,
  { scoped }: ProxyRules,
  fields: Reply["fields"],
): Reply | null {
  if (!scoped || project === null || project === project_id) return null;
  const contextProject = project_id ?? "None";
  const message = `Malformed request URL: URL's project_id '${project}' doesn't match Context's project_id '${contextProject}'`;
  return faultReply(400, message, fields);
}

function allowed(
  command: NodeCommand,
  who: TokenOwner,
  { allows, numbers }: ProxyRules,
  fields: Reply["fields"],
): ProxyDecision {
  const rule = command.do === "list" ? "list" : "show";
  if (!allows(REQUESTED[rule], who)) {
    const refused = `Policy doesn't allow ${ROOT}:${rule} to be performed.`;
    return faultReply(403, refused, fields);
  }
  if (!("id" in command)) return { do: "list", fields };
  const { id } = command;
  const ident = identOf(id, numbers);
  return ident === null ? unknownNode(id, fields) : { do: "show", ident, id, fields };
}

/** The state of a request's Nova microversion. `gone`: Nova removed this API at 2.36. */
const LAST = 35;
const FIRST = "2.1";
/** `latest` of every Nova is newer than the last version with this API. */
const AFTER = `2.${LAST + 1}`;

const MODERN = "OpenStack-API-Version";
const LEGACY = "X-OpenStack-Nova-API-Version";

/**
 * The microversion of a request to /v2.1. The newer header takes precedence.
 *
 * @source microversion_parse, get_version; nova@26.2.2 api/openstack/wsgi.py set_api_version_request
 */
function negotiatedOf(fields: HeaderFields): {
  readonly is: "served" | "gone" | "unknown" | "malformed";
  readonly version: string;
} {
  const version =
    modern(text(fields, MODERN)) ?? text(fields, LEGACY)?.split(",").at(-1)?.trim() ?? FIRST;
  if (version === "latest") return { is: "gone", version: AFTER };
  const [, major, minor] = /^([1-9]\d{0,8})\.([1-9]\d{0,8}|0)$/.exec(version) ?? [];
  if (major === undefined) return { is: "malformed", version };
  if (major !== "2" || minor === "0") return { is: "unknown", version };
  return { is: Number(minor) > LAST ? "gone" : "served", version };
}

function text(fields: HeaderFields, name: string): string | undefined {
  const found = fields[name.toLowerCase()];
  return typeof found === "string" ? found : found?.join(",");
}

/** Reads `compute 2.9` from a list that may name other services. The last entry applies. */
function modern(header: string | undefined): string | undefined {
  const versions = (header ?? "").split(",").map((one) => one.trim().split(/\s+/));
  const compute = versions.filter(([service]) => service?.toLowerCase() === "compute");
  return compute.findLast(([, version]) => version !== undefined)?.[1];
}

/** The Ironic commands that Nova's refusals of an action recommend. */
const ACTIONS = new Map([
  ["add_interface", "port-create"],
  ["remove_interface", "port-delete"],
]);

/** @returns null if the body is not an object with one key */
function actionOf(body: string): string | null {
  const [name, ...rest] = Object.keys(objectOf(parsedJson(body)));
  return rest.length > 0 ? null : (name ?? null);
}

interface NodeRoute {
  readonly version: "v2" | "v2.1";
  /** Null: the path has no project. */
  readonly project: string | null;
  readonly wanted: NodeCommand;
}

/** `nowhere`: Nova has no such route. */
type NodeCommand =
  | { readonly do: "list" | "create" | "options" | "nowhere" }
  | { readonly do: "show" | "delete" | "action"; readonly id: string };

/** Paths that a load balancer may send to the proxy. The proxy parses the rest of the path. */
export const MOUNT = /^\/v2(?:\.1)?(?:\/[^/]+)?\/os-baremetal-nodes(?:\/|$)/;

const PATH =
  /^\/(?<version>v2|v2\.1)(?:\/(?<project>[^/]+))?\/os-baremetal-nodes(?:\/(?<id>[^/]+)(?<action>\/action)?)?$/;

/**
 * @param path as sent, without the query
 * @returns null if the path is not of this API
 * @source nova@2014.2 api/openstack/compute/contrib/baremetal_nodes.py; nova@26.2.2 routes.py
 */
function locationOf(method: string, path: string): NodeRoute | null {
  if (!MOUNT.test(path)) return null;
  const { version, project, id, action } = PATH.exec(path)?.groups ?? {};
  const api = path.startsWith("/v2.1/") ? "v2.1" : "v2";
  if (version === undefined) return { version: api, project: null, wanted: { do: "nowhere" } };
  const wanted = nodeCommandOf(method, id, action !== undefined);
  const projectId = project === undefined ? null : (decoded(project) ?? project);
  return { version: api, project: projectId, wanted };
}

function nodeCommandOf(method: string, id: string | undefined, isAction: boolean): NodeCommand {
  const nowhere = { do: "nowhere" } as const;
  if (method === "OPTIONS") return { do: "options" };
  if (id === undefined)
    return { do: method === "GET" ? "list" : method === "POST" ? "create" : "nowhere" };
  const plain = decoded(id) ?? id;
  if (isAction) return method === "POST" ? { do: "action", id: plain } : nowhere;
  if (method === "GET") return { do: "show", id: plain };
  return method === "DELETE" ? { do: "delete", id: plain } : nowhere;
}
