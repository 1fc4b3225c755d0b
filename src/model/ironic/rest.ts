import type { Json } from "../../lib/json.ts";
import type { Row } from "../machine.ts";
import type { Resource } from "../plan.ts";

/** Field -> its first minor microversion. */
type Minors = { readonly [field: string]: number };

/**
 * `create`: accepted at creation. `later`: reported, and written by a separate call after creation.
 * `reported`: written only by Ironic.
 */
type RestFields = { readonly [kind in "create" | "later" | "reported"]: Minors };

/** Capabilities of Ironic's API. Described in mappings/schema/rest.schema.json */
export interface RestDoc extends Readonly<Record<Resource, RestFields>> {
  readonly adopt: number;
  readonly provide: number;
  /** Last minor whose release reads `extra.vif_port_id` of ports. @source facts/ironic.md 0.6 */
  readonly vif_in_extra_until: number;
  readonly goals: { readonly [state: string]: "active" | "available" | "manageable" };
  readonly silent: { readonly [field: string]: string };
}

/** undefined removes the value, and resets automated_clean to the conductor's default. */
export interface NodeChange {
  readonly path: readonly [field: string, key?: string];
  readonly after: Json | undefined;
  readonly op?: "replace";
}

/** The N of `1.N`: 1.9 is older than 1.101. */
export function minorOf(microversion: string): number {
  return Number(microversion.slice(microversion.indexOf(".") + 1));
}

function fieldsAt(fields: Minors, minor: number): ReadonlySet<string> {
  return new Set(
    Object.entries(fields).flatMap(([field, since]) => (since <= minor ? [field] : [])),
  );
}

export function carriedFields(
  doc: RestDoc,
  resource: Resource,
  minor: number,
): ReadonlySet<string> {
  const { create, later, reported } = doc[resource];
  return fieldsAt({ ...create, ...later, ...reported }, minor);
}

/** The body of a create request: accepted fields without NULL. */
export function createdRow(doc: RestDoc, resource: Resource, row: Row, minor: number): Row {
  const fields = fieldsAt(doc[resource].create, minor);
  return Object.fromEntries(
    Object.entries(row).filter(([field, value]) => fields.has(field) && value !== null),
  );
}
