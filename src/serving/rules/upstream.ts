import { isObject } from "../../lib/json.ts";
import { isUuid } from "../../lib/uuid.ts";

/** Range of minor microversions. Null: Juno, which has no microversions. */
export type Range = { readonly least: number; readonly most: number } | null;

/** @source ironic, doc/source/contributor/webapi-version-history.rst */
const FIELDS = 8;
const NAMES = 5;
/** Node names of all unreserved characters of RFC 3986. Older minors accept hostnames only. */
const ANY_NAME = 10;

export interface Question {
  readonly path: string;
  readonly minor: number | null;
}

/** @param marker uuid of the last node read */
export function listQuestion(range: Range, marker: string | null): Question {
  const after = marker === null ? [] : [`marker=${marker}`];
  return hasFields(range)
    ? question("/v1/nodes", ["fields=uuid,provision_state,properties", ...after], at(range, FIELDS))
    : question("/v1/nodes/detail", after, at(range, FIELDS));
}

export function showQuestion(range: Range, { is, text }: Ident): Question | null {
  if (is === "name" && (range === null || range.most < NAMES)) return null;
  const fields = hasFields(range) ? ["fields=uuid,provision_state,properties,instance_uuid"] : [];
  return question(`/v1/nodes/${text}`, fields, at(range, is === "name" ? ANY_NAME : FIELDS));
}

/** @param marker of the last port read, from Ironic's `next` link */
export function portsQuestion(range: Range, node: string, marker: string | null): Question {
  const after = marker === null ? [] : [`marker=${marker}`];
  const which = hasFields(range) ? [`node=${node}`, "fields=address"] : [`node_uuid=${node}`];
  return question("/v1/ports", [...which, ...after], at(range, FIELDS));
}

function hasFields(range: Range): boolean {
  return range !== null && range.most >= FIELDS;
}

function question(path: string, parameters: readonly string[], minor: number | null): Question {
  return { path: parameters.length === 0 ? path : `${path}?${parameters.join("&")}`, minor };
}

/** The feature's minor, limited to the range. */
function at(range: Range, minor: number): number | null {
  return range === null ? null : Math.max(range.least, Math.min(range.most, minor));
}

export function pageOf(body: unknown, of: "nodes" | "ports") {
  if (!isObject(body)) return null;
  const { [of]: items, next } = body;
  if (!Array.isArray(items)) return null;
  const more = typeof next === "string";
  const marker = more ? (/[?&]marker=([A-Za-z0-9-]{1,64})(?:&|$)/.exec(next)?.[1] ?? null) : null;
  return { items: items as readonly unknown[], more, marker };
}

/** The range in the headers. Undefined if this is not a bare metal service. */
export function rangeOf(least: unknown, most: unknown, body: unknown): Range | undefined {
  const [low, high] = [minor(least), minor(most)];
  if (low !== null && high !== null) return { least: low, most: high };
  // Juno has no such headers. Its body identifies it.
  return isObject(body) && body.id === "v1" && "ports" in body ? null : undefined;
}

function minor(text: unknown): number | null {
  const [, found] = /^1\.(\d{1,4})$/.exec(typeof text === "string" ? text : "") ?? [];
  return found === undefined ? null : Number(found);
}

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
