import { isObject, type Json } from "../../model/json.ts";
import type { Ident } from "./ident.ts";

/** Microversions a bare metal service speaks, by their minors; null: it is Juno's, which has none. */
export type Range = { readonly least: number; readonly most: number } | null;

/** Minors that brought what is asked for. @source ironic, doc/source/contributor/webapi-version-history.rst */
const FIELDS = 8;
const NAMES = 5;
/** Any name of RFC 3986's unreserved characters; hosts' names alone before. */
const ANY_NAME = 10;
/** Who may list conductors sees every node. */
const CONDUCTORS = 49;
/** `owner` is older; from here on a project is shown what it owns or leases, and nothing else. */
const LESSEE = 65;

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

/** A first page that may tell by itself whether it is of all nodes; null: this Ironic's cannot. */
export function provingQuestion(range: Range): Question | null {
  return range === null || range.most < LESSEE
    ? null
    : question(
        "/v1/nodes",
        ["fields=uuid,provision_state,properties,owner,lessee"],
        at(range, LESSEE),
      );
}

/**
 * Whether a page can be no project's part: a token without a project has all or nothing, and one with a
 * project that may not see all has what its project owns or leases. Ironic's database compares those, by
 * a collation that may hold names for equal that differ in case, accents or spaces behind them: only
 * Keystone's own ids, or none, are surely another's.
 *
 * @param items of an answer to `provingQuestion`
 * @source ironic 21.4.4, api/controllers/v1/utils.py check_list_policy; db/sqlalchemy/api.py _add_nodes_filters
 */
export function showsAll(items: readonly unknown[], project: string | null): boolean {
  if (project === null) return true;
  const others = (name: Json | undefined): boolean =>
    name === null ||
    (typeof name === "string" &&
      KEYSTONE_ID.test(project) &&
      KEYSTONE_ID.test(name) &&
      name !== project);
  return items.some((item) => isObject(item) && others(item.owner) && others(item.lessee));
}

const KEYSTONE_ID = /^[0-9a-f]{32}$/;

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

/** Whether a caller sees all nodes or a project's; null: this Ironic shows all to everyone. */
export function sightQuestion(range: Range): Question | null {
  return range === null || range.most < CONDUCTORS
    ? null
    : question("/v1/conductors", ["limit=1"], at(range, CONDUCTORS));
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
