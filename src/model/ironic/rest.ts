import type { Json } from "../../lib/json.ts";
import type { Row } from "../machine.ts";
import type { Resource } from "../plan.ts";

/** Field -> the minor microversion that brought it. */
type Minors = { readonly [field: string]: number };

interface RestFields {
  /** Accepted when the resource is made. */
  readonly create: Minors;
  /** Reported, and written by a call of its own once the resource is there. */
  readonly later: Minors;
  /** Reported, and Ironic's own to write. */
  readonly reported: Minors;
}

/** What Ironic's API can carry. mappings/schema/rest.schema.json has the form. */
export interface RestDoc extends Readonly<Record<Resource, RestFields>> {
  /** First minor with the verb `adopt`. */
  readonly adopt: number;
  /** First minor by which a node itself refuses automated cleaning, so that `provide` wipes nothing. */
  readonly provide: number;
  /** Last minor whose release reads `extra.vif_port_id` of ports. @source facts/ironic.md 0.6 */
  readonly vif_in_extra_until: number;
  /** Planned provision_state -> the one this backend can reach. */
  readonly goals: { readonly [state: string]: "active" | "available" | "manageable" };
  /** Fields left behind without a finding, and why. */
  readonly silent: { readonly [field: string]: string };
}

/** The new value of a node's field, or of a key of it. undefined removes it; automated_clean then has the conductor's default. */
export interface NodeChange {
  readonly path: readonly [field: string, key?: string];
  readonly after: Json | undefined;
  readonly op?: "replace";
}

/** The minor of a microversion `1.N`: 1.9 is older than 1.101. */
export function minorOf(microversion: string): number {
  return Number(microversion.slice(microversion.indexOf(".") + 1));
}

/** Fields of a kind that a microversion has. */
function fieldsAt(fields: Minors, minor: number): ReadonlySet<string> {
  return new Set(
    Object.entries(fields).flatMap(([field, since]) => (since <= minor ? [field] : [])),
  );
}

/** Fields a microversion tells of a resource, whoever writes them. */
export function carriedFields(
  doc: RestDoc,
  resource: Resource,
  minor: number,
): ReadonlySet<string> {
  const { create, later, reported } = doc[resource];
  return fieldsAt({ ...create, ...later, ...reported }, minor);
}

/** The row a service is asked to make: what it accepts at once, without what is NULL anyway. */
export function createdRow(doc: RestDoc, resource: Resource, row: Row, minor: number): Row {
  const fields = fieldsAt(doc[resource].create, minor);
  return Object.fromEntries(
    Object.entries(row).filter(([field, value]) => fields.has(field) && value !== null),
  );
}
