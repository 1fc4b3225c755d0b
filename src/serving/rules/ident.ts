import { isUuid } from "../../lib/uuid.ts";

/** A UUID, or a logical node name (RFC 3986's unreserved characters). */
const IDENT = /^[A-Za-z0-9._~-]{1,255}$/;

/** @source ironic, api/controllers/v1/node.py NodesController */
const RESERVED: ReadonlySet<string> = new Set([
  ...["detail", "validate", "states", "maintenance", "management", "vendor_passthru"],
]);

export interface Ident {
  readonly is: "uuid" | "name";
  readonly text: string;
}

/** @param numbers bm_nodes.id -> uuid @returns null if no node can have that name */
export function identOf(id: string, numbers: ReadonlyMap<number, string>): Ident | null {
  // Ironic removes the suffix unless a node has that name.
  const plain = id.replace(/(?:\.json)+$/, "");
  if (!IDENT.test(id) || /^\.*$/.test(plain) || RESERVED.has(plain)) return null;
  if (isUuid(id)) return { is: "uuid", text: id };
  const uuid = /^[1-9]\d{0,9}$/.test(id) ? numbers.get(Number(id)) : undefined;
  return uuid === undefined ? { is: "name", text: id } : { is: "uuid", text: uuid };
}
