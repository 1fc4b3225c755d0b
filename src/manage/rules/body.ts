import { type JsonObject, objectOf, parsedJson, textOrNull } from "../../lib/json.ts";
import type { NetworkPorts, RunningNode } from "../../model/ironic/adoptable.ts";
import type { ManageAsked } from "../../model/ironic/manage.ts";
import { masked } from "../../model/ironic/masked.ts";
import { createAjv } from "../../model/json-schema/schemas.ts";
import type { Reply } from "../../model/served.ts";
import { BODY } from "./served.ts";

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
  readonly asked: Omit<ManageAsked, "node">;
  readonly image: string | null;
  readonly ports: NetworkPorts;
  /** ISO 8601, UTC. */
  readonly created_at: string | null;
  readonly updated_at: string | null;
}

/** @source facts/systems.md C1: the body of 201 */
export function serverBody(
  node: RunningNode,
  { uuid, asked, image, ports, created_at, updated_at }: MadeServer,
): JsonObject {
  const { owner } = asked;
  const addresses = node.nics.flatMap(({ vif }) => {
    const port = ports.get(vif ?? "");
    return port === undefined ? [] : [{ port_id: port.id, mac_address: port.mac_address }];
  });
  return {
    ...{ uuid, name: asked.name, description: asked.description },
    ...{ flavor_uuid: null, image_uuid: image, availability_zone: asked.availability_zone },
    status: node.power_state === "power off" ? "stopped" : "active",
    ...{ power_state: node.power_state, node_uuid: node.uuid, metadata: asked.metadata, addresses },
    ...{ project_id: owner?.project_id ?? null, user_id: owner?.user_id ?? null, key_name: null },
    ...{ created_at, launched_at: created_at, updated_at, affinity_zone: null, partitions: null },
    // Relative, so that the Host header of a caller sets no address.
    links: [
      { href: `/v1/servers/${uuid}`, rel: "self" },
      { href: `/servers/${uuid}`, rel: "bookmark" },
    ],
  };
}

/** The request of our own record, from its allocation's `extra`; null for others. */
export function keptAsked(name: string | null, extra: JsonObject): MadeServer["asked"] | null {
  const kept = objectOf(extra.nova2ironic);
  if (kept.managed !== true) return null;
  const word = (key: string): string | null => textOrNull(kept[key]);
  const metadata = Object.entries(objectOf(kept.metadata)).map(
    ([key, value]) => [key, String(value)] as const,
  );
  const user_id = word("user_id");
  return {
    ...{ name: name ?? "", description: word("description") },
    ...{ availability_zone: word("availability_zone"), metadata: Object.fromEntries(metadata) },
    ...(user_id !== null && { owner: { user_id, project_id: word("project_id") } }),
  };
}

export const VALIDATES = createAjv().compile(BODY);

/** @param body valid for the schema */
export function askedOf(body: ReturnType<typeof objectOf>): Required<Omit<ManageAsked, "owner">> {
  const word = (key: string): string | null => {
    const value = body[key];
    return typeof value === "string" && value !== "" ? value : null;
  };
  const { networks } = body;
  const ports = Array.isArray(networks) ? networks : [];
  return {
    ...{ node: (word("node_uuid") ?? "").toLowerCase(), name: word("name") ?? "" },
    ...{ description: word("description"), availability_zone: word("availability_zone") },
    ports: ports.map((one) => String(objectOf(one).port_id).toLowerCase()),
    metadata: {},
  };
}

export function faultIn({ body }: Reply): string {
  const { error_message } = objectOf(parsedJson(typeof body === "string" ? body : ""));
  const { faultstring } = objectOf(parsedJson(String(error_message)));
  return typeof faultstring === "string" ? faultstring : "";
}
