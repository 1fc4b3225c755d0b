import { isObject } from "../../lib/json.ts";
import type { Ident } from "./ident.ts";

/** Microversions a bare metal service speaks, by their minors; null: it is Juno's, which has none. */
export type Range = { readonly least: number; readonly most: number } | null;

/** Minors that brought what is asked for. @source ironic, doc/source/contributor/webapi-version-history.rst */
const FIELDS = 8;
const NAMES = 5;
/** Any name of RFC 3986's unreserved characters; hosts' names alone before. */
const ANY_NAME = 10;

/** A question to Ironic: its path, and the minor it is pinned to. */
export interface Question {
  readonly path: string;
  readonly minor: number | null;
}

/** @param marker uuid of the node behind which it goes on */
export function listQuestion(range: Range, marker: string | null): Question {
  const after = marker === null ? [] : [`marker=${marker}`];
  return hasFields(range)
    ? question("/v1/nodes", ["fields=uuid,provision_state,properties", ...after], at(range, FIELDS))
    : question("/v1/nodes/detail", after, at(range, FIELDS));
}

/** Null: this Ironic has no names. */
export function showQuestion(range: Range, { is, text }: Ident): Question | null {
  if (is === "name" && (range === null || range.most < NAMES)) return null;
  const fields = hasFields(range) ? ["fields=uuid,provision_state,properties,instance_uuid"] : [];
  return question(`/v1/nodes/${text}`, fields, at(range, is === "name" ? ANY_NAME : FIELDS));
}

/** @param marker of the port behind which it goes on, as Ironic's own link has it */
export function portsQuestion(range: Range, node: string, marker: string | null): Question {
  const after = marker === null ? [] : [`marker=${marker}`];
  const which = hasFields(range) ? [`node=${node}`, "fields=address"] : [`node_uuid=${node}`];
  return question("/v1/ports", [...which, ...after], at(range, FIELDS));
}

function hasFields(range: Range): boolean {
  return range !== null && range.most >= FIELDS;
}

function question(path: string, words: readonly string[], minor: number | null): Question {
  return { path: words.length === 0 ? path : `${path}?${words.join("&")}`, minor };
}

/** The lowest that has it, or else the highest there is. */
function at(range: Range, minor: number): number | null {
  return range === null ? null : Math.max(range.least, Math.min(range.most, minor));
}

/** A page of a list. */
export interface Page {
  readonly items: readonly unknown[];
  /** Whether Ironic has more behind it. */
  readonly more: boolean;
  /** What its link to more says that it goes on behind. */
  readonly marker: string | null;
}

/** Null where a body is no page of these. */
export function pageOf(body: unknown, of: "nodes" | "ports"): Page | null {
  if (!isObject(body)) return null;
  const { [of]: items, next } = body;
  if (!Array.isArray(items)) return null;
  const more = typeof next === "string";
  const marker = more ? (/[?&]marker=([A-Za-z0-9-]{1,64})(?:&|$)/.exec(next)?.[1] ?? null) : null;
  return { items: items as readonly unknown[], more, marker };
}

/** The microversions that a service tells in its headers; undefined: it is no bare metal service. */
export function rangeOf(least: unknown, most: unknown, body: unknown): Range | undefined {
  const [low, high] = [minor(least), minor(most)];
  if (low !== null && high !== null) return { least: low, most: high };
  // Juno has none, and says what it is in its body.
  return isObject(body) && body.id === "v1" && "ports" in body ? null : undefined;
}

function minor(text: unknown): number | null {
  const [, found] = /^1\.(\d{1,4})$/.exec(typeof text === "string" ? text : "") ?? [];
  return found === undefined ? null : Number(found);
}
