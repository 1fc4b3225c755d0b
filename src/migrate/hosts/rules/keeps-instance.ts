import type { ServerIdentity } from "../../../model/artefact.ts";
import type { Row } from "../../../model/machine.ts";

/** Whether Ironic's node has this instance: bm_nodes names it, undisputed. */
export function keepsInstance(node: Row | undefined, { uuid }: { readonly uuid: string }): boolean {
  const instance = node?.instance_uuid;
  return typeof instance === "string" && same(instance, uuid);
}

/**
 * Whether Nova finds a machine by an instance's node. Ironic's UUIDs are lower case. MySQL's
 * collation ignores case, but other servers compare exactly.
 * @source facts/nova-bm.md 5.2
 */
export function namesNode(
  node: string | null,
  machine: string | null,
  { engine }: Pick<ServerIdentity, "engine">,
): boolean {
  if (engine === "mysql") return same(node, machine);
  return node === (machine?.toLowerCase() ?? null);
}

/** Compares UUIDs without case, because systems write them differently. */
export function same(one: string | null | undefined, other: string | null | undefined): boolean {
  return (one ?? null)?.toLowerCase() === (other ?? null)?.toLowerCase();
}
