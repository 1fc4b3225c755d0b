import { isUuid } from "../../lib/uuid.ts";

/** What Ironic takes for a node: a UUID, or a logical name of RFC 3986's unreserved characters. */
const IDENT = /^[A-Za-z0-9._~-]{1,255}$/;

/** Where Ironic has something else than a node. @source ironic, api/controllers/v1/node.py NodesController */
const RESERVED: ReadonlySet<string> = new Set([
  ...["detail", "validate", "states", "maintenance", "management", "vendor_passthru"],
]);

/** A node as Ironic may be asked for it. */
export interface Ident {
  readonly is: "uuid" | "name";
  readonly text: string;
}

/**
 * What Ironic may be asked for; null where no node can have that name.
 *
 * @param numbers the old bm_nodes.id -> uuid; empty where no run is known
 */
export function identOf(id: string, numbers: ReadonlyMap<number, string>): Ident | null {
  // Ironic takes it off, unless a node is named so.
  const plain = id.replace(/(?:\.json)+$/, "");
  if (!IDENT.test(id) || /^\.*$/.test(plain) || RESERVED.has(plain)) return null;
  if (isUuid(id)) return { is: "uuid", text: id };
  const uuid = /^[1-9]\d{0,9}$/.test(id) ? numbers.get(Number(id)) : undefined;
  return uuid === undefined ? { is: "name", text: id } : { is: "uuid", text: uuid };
}
