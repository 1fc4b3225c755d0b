import { isObject, type Json } from "../../lib/json.ts";
import type { SameSecret } from "../../model/compare.ts";
import { carriedFields, createdRow, type RestDoc } from "../../model/ironic/rest.ts";
import type { Row } from "../../model/machine.ts";
import type { Resource } from "../../model/plan.ts";
import { isSealed, type Seal, type Sealed, sealed, unsealed } from "../../model/secret.ts";

/** Ironic's replacement for a secret. @source facts/ironic.md 0.12 */
const MASK = "******";
/** Stands for a masked secret, which equals every other. */
const MASKED: Sealed = { secret: "", of: "" };

export function rowsOf(doc: RestDoc, minor: number, seal: Seal) {
  const fields = {
    node: carriedFields(doc, "node", minor),
    port: carriedFields(doc, "port", minor),
  };
  return {
    /** The fields of the pinned version, secrets sealed. */
    reported(resource: Resource, body: unknown): Row {
      const attributes = isObject(body) ? body : {};
      const owner = String(resource === "node" ? attributes.uuid : attributes.node_uuid);
      const row: Record<string, Json> = {};
      for (const field of fields[resource])
        if (attributes[field] !== undefined)
          row[field] = sealed(attributes[field], seal, owner, (value) =>
            value === MASK ? MASKED : null,
          );
      const { traits } = row;
      // The service does not order traits.
      if (Array.isArray(traits)) row.traits = traits.map(String).toSorted();
      return row;
    },
    reports: (resource: Resource, field: string) => fields[resource].has(field),
    /** The POST body, with open secrets. */
    body: (resource: Resource, row: Row): Row =>
      Object.fromEntries(
        Object.entries(createdRow(doc, resource, row, minor)).map(([field, value]) => [
          field,
          unsealed(value, seal),
        ]),
      ),
    /** Open secrets, to remove them from messages. */
    secrets: (row: Row) => Object.values(row).flatMap((value) => secretsIn(value, seal)),
    same: sameOver(seal),
  };
}

/** A masked secret cannot be compared. */
export function sameOver(seal: Seal): SameSecret {
  return (left, right) =>
    isMasked(left) ||
    isMasked(right) ||
    left.secret === right.secret ||
    seal.open(left) === seal.open(right);
}

function isMasked({ secret }: Sealed): boolean {
  return secret === "";
}

export function maskedIn(value: Json): number {
  if (!isObject(value)) return 0;
  if (isSealed(value)) return isMasked(value) ? 1 : 0;
  return Object.values(value).reduce<number>((sum, inner) => sum + maskedIn(inner), 0);
}

function secretsIn(value: Json, seal: Seal): readonly string[] {
  if (!isObject(value)) return [];
  if (isSealed(value)) return isMasked(value) ? [] : [seal.open(value)];
  return Object.values(value).flatMap((inner) => secretsIn(inner, seal));
}
