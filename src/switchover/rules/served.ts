import { isObject, type JsonObject, parsedJson } from "../../lib/json.ts";
import type { RefusalCode } from "../../lib/refusals.ts";
import { decoded, type HeaderFields, mediaFault, type ServedRequest } from "../../model/served.ts";
import type { RequestedRule } from "../../serving/rules/policy.ts";
import { type Ident, identOf, type Range } from "../../serving/rules/upstream.ts";

export const SWITCHED = /^\/v1\/nodes\/([^/]+)\/switchover\/?$/;

export function requestedActionOf(method: string): "switch" | "show" | "nothing" {
  if (method === "PUT") return "switch";
  return method === "GET" || method === "HEAD" ? "show" : "nothing";
}

/** The node in the path, as written and as an identifier for Ironic; null: an invalid name. */
export function sourceIn(path: string): { readonly name: string; readonly ident: Ident | null } {
  const [, part = ""] = SWITCHED.exec(path) ?? [];
  const name = decoded(part);
  return { name: name ?? part, ident: name === null ? null : identOf(name, NONE) };
}

const NONE: ReadonlyMap<number, string> = new Map();

const RULE = "baremetal:node:switchover";

/**
 * The new policy rule, and the rules of Ironic's code that a policy file may name.
 *
 * @source ironic 21.4.4, common/policy.py default_policies
 */
export const SWITCH_RULE: RequestedRule = {
  names: [RULE],
  inCode: {
    [RULE]: "role:admin",
    admin_api: "role:admin or role:administrator",
    is_member:
      "(project_domain_id:default or project_domain_id:None) and (project_name:demo or project_name:baremetal)",
    is_observer: "rule:is_member and (role:observer or role:baremetal_observer)",
    is_admin: "rule:admin_api or (rule:is_member and role:baremetal_admin)",
  },
};

/** @source ironic, api/controllers; oslo.policy's PolicyNotAuthorized as HTTPForbidden */
export const DENIED = `Access was denied to the following resource: ${RULE}`;

const VERSION = "X-OpenStack-Ironic-API-Version";
const [MINIMUM, MAXIMUM] = [
  "X-OpenStack-Ironic-API-Minimum-Version",
  "X-OpenStack-Ironic-API-Maximum-Version",
];

/** Volume connectors exist since 1.32, storage_interface since 1.33. */
const LEAST = 33;

/**
 * Parses the microversion like Ironic: 1.1 without a header.
 *
 * @returns the header fields of the response, and why the version is refused, or null
 * @source ironic 21.4.4, api/controllers/base.py Version.parse_headers;
 * api/controllers/v1/__init__.py _check_version
 */
export function negotiatedOf(fields: HeaderFields, { least, most }: NonNullable<Range>) {
  const [low, high] = [`1.${least}`, `1.${most}`];
  const range = `[${low}, ${high}]`;
  const both = { [MINIMUM]: low, [MAXIMUM]: high };
  const found = fields[VERSION.toLowerCase()];
  const header = typeof found === "string" ? found : low;
  const [, major, digits] =
    /^(\d{1,9})\.(\d{1,9})$/.exec(header.toLowerCase() === "latest" ? high : header.trim()) ?? [];
  const refused = (reason: string) => ({ reason, fields: both });
  // Unlike Ironic, also returns the supported versions, which callers need.
  if (major === undefined) return refused(`Invalid value for ${VERSION} header`);
  const minor = Number(digits);
  const version = `${Number(major)}.${minor}`;
  const other = `Version ${version} was requested`;
  const reason =
    (Number(major) !== 1 &&
      `Mutually exclusive versions requested. Version ${version} requested but not supported by this service.`) ||
    ((minor < least || minor > most) &&
      `${other} but the minor version is not supported by this service.`) ||
    (minor < LEAST && `${other}, and a switchover needs 1.${LEAST} or later.`);
  if (reason !== false) return refused(`${reason} The supported version range is: ${range}.`);
  return { reason: null, fields: { ...both, [VERSION]: version } };
}

/** `{"target_node": "<uuid or name>"}`, `{}`, or empty. */
export function bodyOf({ body, fields }: Pick<ServedRequest, "body" | "fields">) {
  const refused = (status: 400 | 415, reason: string) => ({ status, reason });
  const text = body.toString("utf8");
  if (text.trim() === "") return { target: null };
  const media = mediaFault(fields);
  if (media !== null) return refused(415, media);
  const sent: unknown = parsedJson(text);
  if (!isObject(sent)) return refused(400, "The body has to be a JSON object");
  const { target_node: target, ...rest } = sent as JsonObject;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined)
    return refused(400, `Unexpected attribute ${JSON.stringify(unknown.slice(0, LONGEST))}`);
  if (target === undefined) return { target: null };
  // An empty target is an error of a script, not a request for any spare.
  if (typeof target !== "string" || identOf(target, NONE) === null)
    return refused(400, "target_node has to be the uuid or the name of a node");
  return { target };
}

const LONGEST = 255;

const BAD_REQUEST: ReadonlySet<RefusalCode> = new Set<RefusalCode>([
  ...(["N2I-E382", "N2I-E383", "N2I-E384", "N2I-E385"] as const),
  ...(["N2I-E386", "N2I-E387", "N2I-E392"] as const),
]);

/** After any other error (503), nothing has changed, and a retry may succeed. @source facts/systems.md B3 */
export function statusOf(code: RefusalCode): number {
  if (code === "N2I-E306") return 404;
  if (code === "N2I-E380" || code === "N2I-E381") return 409;
  return BAD_REQUEST.has(code) ? 400 : 503;
}
