import { type JsonObject, objectOf, parsedJson, textOrNull } from "../../lib/json.ts";
import { isUuid } from "../../lib/uuid.ts";
import type { ManageRequest, NetworkPorts, RunningNode } from "../../model/ironic/manage.ts";
import { masked } from "../../model/ironic/masked.ts";
import { createAjv } from "../../model/json-schema/schemas.ts";
import type { Reply } from "../../model/served.ts";
import type { RequestedRule } from "../../serving/rules/policy.ts";
import type { FaultKind } from "./criteria.ts";

/** The requested action; `nowhere`: unknown path. */
type ManageableAction =
  | { readonly do: "list" | "manage" | "nowhere" }
  | { readonly do: "show"; readonly server: string };

export const MANAGEABLE = /^\/v1\/(adoptable_nodes|servers\/[^/]+)\/?$/;

export function requestedActionOf(method: string, path: string): ManageableAction {
  const [, location = ""] = MANAGEABLE.exec(path) ?? [];
  const line = `${method === "HEAD" ? "GET" : method} ${location}`;
  if (line === "GET adoptable_nodes") return { do: "list" };
  if (line === "POST servers/manage") return { do: "manage" };
  const server = line.replace(/^GET servers\//, "");
  return isUuid(server) ? { do: "show", server: server.toLowerCase() } : { do: "nowhere" };
}

/** Policy rules. Only administrators may list or create servers. @source facts/systems.md C1 */
export const MANAGEABLE_RULES = {
  list: requestedRule("mogan:manageable_servers:get_all"),
  manage: requestedRule("mogan:manageable_servers:create"),
  show: requestedRule("mogan:server:get"),
} as const;

function requestedRule(name: string): RequestedRule {
  return { names: [name], inCode: { [name]: "rule:admin_api" } };
}

/** Text of the API. @source facts/systems.md C1 */
export function deniedText(action: keyof typeof MANAGEABLE_RULES): string {
  const [name] = MANAGEABLE_RULES[action].names;
  return `Access was denied to the following resource: ${name}`;
}

const UUID = "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$";
const NAME = { type: "string", minLength: 1, maxLength: 255 } as const;
const ID = { type: "string", pattern: UUID } as const;

/** Body of POST. @source facts/systems.md C1: the founding text */
const BODY = {
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

/** @param rejectionKinds a missing permission of the service's own login takes precedence */
export function statusOf(rejectionKinds: readonly FaultKind[]): number {
  if (rejectionKinds.includes("denied")) return STATUSES.denied;
  return Math.min(...rejectionKinds.map((is) => STATUSES[is]), STATUSES.taken);
}

/**
 * A node in the form of the specification.
 *
 * @param ironic URL of the service, for links
 * @source facts/systems.md C1: adoptable_nodes
 */
export function adoptableNode(node: RunningNode, ironic: string): JsonObject {
  // Includes portgroups with a VIF, which a request must also name.
  const ports = node.nics.filter(({ is, vif }) => is === "port" || vif !== null);
  return {
    ...{ uuid: node.uuid, name: node.name },
    ports: ports.map(({ is, uuid, vif }) => ({
      ...{ uuid, vif_port_id: vif, href: `${ironic}/v1/${is}s/${uuid}`, rel: "self" },
    })),
    ...{ power_state: node.power_state, provision_state: node.provision_state },
    ...{ created_at: node.created_at, properties: node.properties },
    ...{ instance_info: masked(node.instance_info), resource_class: node.resource_class },
  };
}

interface MadeServer {
  readonly uuid: string;
  readonly request: Omit<ManageRequest, "node">;
  readonly image: string | null;
  readonly ports: NetworkPorts;
  /** ISO 8601, UTC. */
  readonly created_at: string | null;
  readonly updated_at: string | null;
}

/** @source facts/systems.md C1: the body of 201 */
export function serverBody(
  node: RunningNode,
  { uuid, request: spec, image, ports, created_at, updated_at }: MadeServer,
): JsonObject {
  const { owner } = spec;
  const addresses = node.nics.flatMap(({ vif }) => {
    const port = ports.get(vif ?? "");
    return port === undefined ? [] : [{ port_id: port.id, mac_address: port.mac_address }];
  });
  return {
    ...{ uuid, name: spec.name, description: spec.description },
    ...{ flavor_uuid: null, image_uuid: image, availability_zone: spec.availability_zone },
    status: node.power_state === "power off" ? "stopped" : "active",
    ...{ power_state: node.power_state, node_uuid: node.uuid, metadata: spec.metadata, addresses },
    ...{ project_id: owner?.project_id ?? null, user_id: owner?.user_id ?? null, key_name: null },
    ...{ created_at, launched_at: created_at, updated_at, affinity_zone: null, partitions: null },
    // Relative, so that a caller's Host header cannot set the address.
    links: [
      { href: `/v1/servers/${uuid}`, rel: "self" },
      { href: `/servers/${uuid}`, rel: "bookmark" },
    ],
  };
}

/** The request of our own record, from its allocation's `extra`; null for others. */
export function savedRequest(name: string | null, extra: JsonObject): MadeServer["request"] | null {
  const saved = objectOf(extra.nova2ironic);
  if (saved.managed !== true) return null;
  const textOf = (key: string): string | null => textOrNull(saved[key]);
  const metadata = Object.entries(objectOf(saved.metadata)).map(
    ([key, value]) => [key, String(value)] as const,
  );
  const user_id = textOf("user_id");
  return {
    ...{ name: name ?? "", description: textOf("description") },
    ...{ availability_zone: textOf("availability_zone"), metadata: Object.fromEntries(metadata) },
    ...(user_id !== null && { owner: { user_id, project_id: textOf("project_id") } }),
  };
}

export const VALIDATES = createAjv().compile(BODY);

/** @param body valid for the schema */
export function manageRequestOf(
  body: ReturnType<typeof objectOf>,
): Required<Omit<ManageRequest, "owner">> {
  const textOf = (key: string): string | null => {
    const value = body[key];
    return typeof value === "string" && value !== "" ? value : null;
  };
  const { networks } = body;
  const ports = Array.isArray(networks) ? networks : [];
  return {
    ...{ node: (textOf("node_uuid") ?? "").toLowerCase(), name: textOf("name") ?? "" },
    ...{ description: textOf("description"), availability_zone: textOf("availability_zone") },
    ports: ports.map((one) => String(objectOf(one).port_id).toLowerCase()),
    metadata: {},
  };
}

export function faultIn({ body }: Reply): string {
  const { error_message } = objectOf(parsedJson(typeof body === "string" ? body : ""));
  const { faultstring } = objectOf(parsedJson(String(error_message)));
  return typeof faultstring === "string" ? faultstring : "";
}
