/** What Ironic takes for a node: a UUID, or a logical name of RFC 3986's unreserved characters. */
const IDENT = /^[A-Za-z0-9._~-]{1,255}$/;

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

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
  if (!IDENT.test(id) || /^\.+$/.test(id) || RESERVED.has(id)) return null;
  if (UUID.test(id)) return { is: "uuid", text: id };
  const uuid = /^[1-9]\d{0,9}$/.test(id) ? numbers.get(Number(id)) : undefined;
  return uuid === undefined ? { is: "name", text: id } : { is: "uuid", text: uuid };
}
