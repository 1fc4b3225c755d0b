import { isUuid } from "../../lib/uuid.ts";
import type { AskedRule } from "../../serving/rules/policy-read.ts";
import type { Hindrance } from "./criteria.ts";

/** The requested action; `nowhere`: unknown path. */
type ManageableWanted =
  | { readonly do: "list" | "manage" | "nowhere" }
  | { readonly do: "show"; readonly server: string };

export const MANAGEABLE = /^\/v1\/(adoptable_nodes|servers\/[^/]+)\/?$/;

export function wantedOf(method: string, path: string): ManageableWanted {
  const [, place = ""] = MANAGEABLE.exec(path) ?? [];
  const line = `${method === "HEAD" ? "GET" : method} ${place}`;
  if (line === "GET adoptable_nodes") return { do: "list" };
  if (line === "POST servers/manage") return { do: "manage" };
  const server = line.replace(/^GET servers\//, "");
  return isUuid(server) ? { do: "show", server: server.toLowerCase() } : { do: "nowhere" };
}

/** Policy rules. Like the list, a server is for administrators. @source facts/systems.md C1 */
export const MANAGEABLE_RULES = {
  list: asked("mogan:manageable_servers:get_all"),
  manage: asked("mogan:manageable_servers:create"),
  show: asked("mogan:server:get"),
} as const;

function asked(name: string): AskedRule {
  return { names: [name], inCode: { [name]: "rule:admin_api" } };
}

/** Text of the API. @source facts/systems.md C1 */
export function deniedText(wanted: keyof typeof MANAGEABLE_RULES): string {
  const [name] = MANAGEABLE_RULES[wanted].names;
  return `Access was denied to the following resource: ${name}`;
}

const UUID = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$";
const NAME = { type: "string", minLength: 1, maxLength: 255 } as const;
const ID = { type: "string", pattern: UUID } as const;

/** Body of POST. @source facts/systems.md C1: the founding text */
export const BODY = {
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
} as const;

const STATUSES = { state: 403, gone: 404, taken: 409, denied: 503 } as const;

/** @param hindrances a missing permission of the service's own login takes precedence */
export function statusOf(hindrances: readonly Hindrance[]): number {
  if (hindrances.includes("denied")) return STATUSES.denied;
  return Math.min(...hindrances.map((is) => STATUSES[is]), STATUSES.taken);
}
