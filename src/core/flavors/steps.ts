import type { NovaStep } from "../../model/nova-plan.ts";
import type { FlavorRow, SpecRow } from "../../model/nova-rows.ts";

const TABLE = { part: "flavors", table: "instance_type_extra_specs", machine: null } as const;

function ofFlavor({ name, flavorid }: FlavorRow, key: string): string {
  return `flavor ${name ?? flavorid ?? "without name"} ${key}`;
}

/** Nothing when the value is there. */
export function setSpec(spec: SpecRow, flavor: FlavorRow, to: string): readonly NovaStep[] {
  const { id, instance_type_id, key, value, deleted } = spec;
  if (value === to) return [];
  const same = { instance_type_id, key, deleted };
  return [
    {
      ...TABLE,
      id: `${TABLE.table}:${id}`,
      key: { id },
      before: { ...same, value },
      after: { ...same, value: to },
      of: ofFlavor(flavor, key),
    },
  ];
}

/** As nova deletes: `deleted` is the row's own id, `updated_at` stays. @source facts/nova-bm.md 4.3 */
export function deleteSpec(spec: SpecRow, flavor: FlavorRow, at: string): NovaStep {
  const { id, instance_type_id, key, value, deleted, deleted_at } = spec;
  const same = { instance_type_id, key, value };
  return {
    ...TABLE,
    id: `${TABLE.table}:${id}`,
    key: { id },
    before: { ...same, deleted, deleted_at },
    after: { ...same, deleted: id, deleted_at: at },
    of: ofFlavor(flavor, key),
  };
}

export function addSpec(flavor: FlavorRow, key: string, value: string, at: string): NovaStep {
  const unique = { instance_type_id: flavor.id, key, deleted: 0 };
  return {
    ...TABLE,
    id: `${TABLE.table}:${flavor.id}/${key}`,
    key: unique,
    before: null,
    after: { ...unique, value, created_at: at, updated_at: null, deleted_at: null },
    of: ofFlavor(flavor, key),
  };
}
