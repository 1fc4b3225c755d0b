import { isObject, type Json, textOrNull } from "../../lib/json.ts";

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
