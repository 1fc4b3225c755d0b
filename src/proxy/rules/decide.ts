import {
  type AskedFor,
  faultReply,
  jsonReply,
  type Reply,
  type TokenOwner,
} from "../../model/served.ts";
import { type Ident, identOf } from "../../serving/rules/ident.ts";
import { spokenOf, unknownVersion, versionFields } from "./microversion.ts";
import { type NodeCommand, type Place, placeOf } from "./route.ts";
import { novaRefusal } from "./writes.ts";

/** How requests are judged. */
export interface ProxyRules {
  /** The operator's policy. */
  readonly allows: (rule: "list" | "show", who: TokenOwner) => boolean;
  /** Writes are refused in Nova's words rather than the upgrade specification's. */
  readonly novaCompat: boolean;
  /** Whether the path's project is held against the token's: there is a token. */
  readonly scoped: boolean;
  /** bm_nodes.id -> uuid. */
  readonly numbers: ReadonlyMap<number, string>;
}

/** What is done with a request; Ironic is asked for the last two alone. */
type ProxyDecision =
  | { readonly do: "answer"; readonly reply: Reply }
  | { readonly do: "list"; readonly fields: Reply["fields"] }
  | {
      readonly do: "show";
      readonly ident: Ident;
      /** As the caller wrote it. */
      readonly id: string;
      readonly fields: Reply["fields"];
    };

/** Nova's sentence where its router, or nothing behind it, has what was asked for. */
const NOT_FOUND = "The resource could not be found.";

/** Of a caller whom Keystone knows. */
export function decide(asked: AskedFor, who: TokenOwner, rules: ProxyRules): ProxyDecision {
  const place = placeOf(asked.method, asked.path);
  if (place === null || place.wanted.do === "nowhere") return answer(nowhere());
  if (place.wanted.do === "options") return answer({ status: 200, fields: {}, body: "" });
  const spoken = place.version === "v2" ? null : spokenOf(asked.fields);
  const fields = spoken === null ? {} : versionFields(spoken.version);
  if (spoken?.is === "malformed") return answer(faultReply(400, malformed(spoken.version)));
  if (spoken?.is === "unknown") return answer(faultReply(406, unknownVersion(spoken.version)));
  const write = refusedWrite(place.wanted, asked, rules, fields);
  if (write?.first === true) return write;
  return (
    refusedProject(place, who, rules, fields) ??
    (spoken?.is === "gone" ? answer(faultReply(404, NOT_FOUND, fields)) : null) ??
    write ??
    allowed(place.wanted, who, rules, fields)
  );
}

export function unknownNode(id: string, fields: Reply["fields"]): Reply {
  return faultReply(404, `Node ${id} could not be found.`, fields);
}

function answer(reply: Reply): ProxyDecision {
  return { do: "answer", reply };
}

/** As webob has it, which no controller of Nova's has seen. */
function nowhere(): Reply {
  const message = `${NOT_FOUND}<br /><br />\n\n\n`;
  return jsonReply(404, { message, code: "404 Not Found", title: "Not Found" });
}

function malformed(version: string): string {
  return `API Version String ${version} is of invalid format. Must be of format MajorNum.MinorNum.`;
}

/**
 * The specification wants 404, whatever the body and the role; Nova itself says 400.
 *
 * @returns `first`: whatever else is wrong with the request
 */
function refusedWrite(
  { do: wanted }: NodeCommand,
  { body }: AskedFor,
  { novaCompat }: ProxyRules,
  fields: Reply["fields"],
): (ProxyDecision & { readonly first: boolean }) | null {
  if (wanted !== "create" && wanted !== "delete" && wanted !== "action") return null;
  if (!novaCompat) return { ...answer(faultReply(404, NOT_FOUND, fields)), first: true };
  const { unread, message } = novaRefusal(wanted, body.toString("utf8"));
  return { ...answer(faultReply(400, message, fields)), first: unread };
}

function refusedProject(
  { project }: Place,
  { project_id }: TokenOwner,
  { scoped }: ProxyRules,
  fields: Reply["fields"],
): ProxyDecision | null {
  if (!scoped || project === null || project === project_id) return null;
  const own = project_id ?? "None";
  const said = `Malformed request URL: URL's project_id '${project}' doesn't match Context's project_id '${own}'`;
  return answer(faultReply(400, said, fields));
}

function allowed(
  wanted: NodeCommand,
  who: TokenOwner,
  { allows, numbers }: ProxyRules,
  fields: Reply["fields"],
): ProxyDecision {
  const rule = wanted.do === "list" ? "list" : "show";
  if (!allows(rule, who)) {
    const refused = `Policy doesn't allow os_compute_api:os-baremetal-nodes:${rule} to be performed.`;
    return answer(faultReply(403, refused, fields));
  }
  if (!("id" in wanted)) return { do: "list", fields };
  const { id } = wanted;
  const ident = identOf(id, numbers);
  return ident === null ? answer(unknownNode(id, fields)) : { do: "show", ident, id, fields };
}
