import { isUuid } from "../../model/uuid.ts";
import type { AskedRule } from "../policy/read.ts";
import type { Hindrance } from "./criteria.ts";

/** Which of the specification's texts a path is of: its first, or its last. */
export type Shape = "first" | "last";

/** What is wanted of which path; `show`: one server; `nowhere`: there is no such thing. */
type ManageableWanted =
  | { readonly do: "list" | "manage"; readonly shape: Shape }
  | { readonly do: "show"; readonly server: string }
  | { readonly do: "nowhere" };

/** What is served at all. */
export const MANAGEABLE = /^\/v1\/(adoptable_nodes|manageable_servers|servers\/[^/]+)\/?$/;

const ROUTES: { readonly [line: string]: ManageableWanted } = {
  "GET adoptable_nodes": { do: "list", shape: "first" },
  "GET manageable_servers": { do: "list", shape: "last" },
  "POST servers/manage": { do: "manage", shape: "first" },
  "POST manageable_servers": { do: "manage", shape: "last" },
};

export function wantedOf(method: string, path: string): ManageableWanted {
  const [, place = ""] = MANAGEABLE.exec(path) ?? [];
  const line = `${method === "HEAD" ? "GET" : method} ${place}`;
  const fixed = Object.hasOwn(ROUTES, line) ? ROUTES[line] : undefined;
  const server = line.replace(/^GET servers\//, "");
  const other = isUuid(server)
    ? ({ do: "show", server: server.toLowerCase() } as const)
    : ({ do: "nowhere" } as const);
  return fixed ?? other;
}

/** What is asked of the policy; a server is for administrators as the list is. @source facts/systems.md C1 */
export const MANAGEABLE_RULES = {
  list: asked("mogan:manageable_servers:get_all"),
  manage: asked("mogan:manageable_servers:create"),
  show: asked("mogan:server:get"),
} as const;

function asked(name: string): AskedRule {
  return { names: [name], inCode: { [name]: "rule:admin_api" } };
}

/** As the API worded it. @source facts/systems.md C1 */
export function deniedText(wanted: keyof typeof MANAGEABLE_RULES): string {
  const [name] = MANAGEABLE_RULES[wanted].names;
  return `Access was denied to the following resource: ${name}`;
}

const UUID = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$";
const NAME = { type: "string", minLength: 1, maxLength: 255 } as const;
const ID = { type: "string", pattern: UUID } as const;

/** The bodies of both texts. @source facts/systems.md C1, and the differences below it */
export const BODIES: { readonly [shape in Shape]: object } = {
  first: {
    type: "object",
    properties: {
      name: NAME,
      description: NAME,
      availability_zone: NAME,
      node_uuid: ID,
      flavor_uuid: ID,
      networks: {
        type: "array",
        minItems: 1,
        items: {
          type: "object",
          properties: { port_type: NAME, port_id: ID },
          required: ["port_id"],
          additionalProperties: false,
        },
      },
    },
    required: ["name", "node_uuid", "flavor_uuid", "networks"],
    additionalProperties: false,
  },
  last: {
    type: "object",
    properties: {
      name: NAME,
      node_uuid: ID,
      description: { type: ["string", "null"], maxLength: 255 },
      metadata: {
        type: "object",
        propertyNames: { pattern: "^[a-zA-Z0-9\\-_:. ]{1,255}$" },
        additionalProperties: { type: "string", maxLength: 255 },
      },
    },
    required: ["name", "node_uuid"],
    additionalProperties: false,
  },
};

const STATUSES = { state: 403, gone: 404, taken: 409, denied: 503 } as const;

/**
 * @param hindrances why a machine is not managed, each by its kind; the gravest is answered: before all else that it is
 *   the service's own login which may not
 */
export function statusOf(hindrances: readonly Hindrance[]): number {
  if (hindrances.includes("denied")) return STATUSES.denied;
  return Math.min(...hindrances.map((is) => STATUSES[is]), STATUSES.taken);
}
