import type { NovaStep } from "../../../model/nova/nova-plan.ts";
import type { FlavorDatabase, FlavorRow, SpecRow } from "../../../model/nova/nova-rows.ts";

/** Creates the steps that add, change and remove an extra spec in one database. */
interface Maker {
  /** The location that findings about a flavor show. */
  readonly location: (flavor: FlavorRow) => string;
  readonly set: (spec: SpecRow, flavor: FlavorRow, to: string) => NovaStep;
  readonly remove: (spec: SpecRow, flavor: FlavorRow, at: string) => NovaStep;
  /** @param at naive UTC */
  readonly add: (flavor: FlavorRow, key: string, value: string, at: string) => NovaStep;
}

/** A step on one extra spec. @param of the flavor, the spec's name and, if present, its row id */
function step(
  where: Pick<NovaStep, "part" | "table" | "machine">,
  of: { readonly flavor: FlavorRow; readonly name: string; readonly id?: number },
  key: NovaStep["key"],
  before: NovaStep["before"],
  after: NovaStep["after"],
): NovaStep {
  const { flavor, name, id = `${flavor.id}/${name}` } = of;
  const row = { ...where, id: `${where.table}:${id}`, key };
  const flavorName = flavor.name ?? flavor.flavorid ?? "without name";
  return { ...row, before, after, of: `flavor ${flavorName} ${name}` };
}

const NOVA = { part: "flavors", table: "instance_type_extra_specs", machine: null } as const;

/** Soft-deleted rows: `deleted` becomes the row's id. @source facts/nova-bm.md 4.3 */
const inNova: Maker = {
  location: ({ id, name }) => `instance_types.id=${id} ${name}`,
  set({ id, instance_type_id, key: name, value, deleted }, flavor, to) {
    const same = { instance_type_id, key: name, deleted };
    return step(NOVA, { flavor, name, id }, { id }, { ...same, value }, { ...same, value: to });
  },
  remove({ id, instance_type_id, key: name, value, deleted, deleted_at }, flavor, at) {
    const same = { instance_type_id, key: name, value };
    const after = { ...same, deleted: id, deleted_at: at };
    return step(NOVA, { flavor, name, id }, { id }, { ...same, deleted, deleted_at }, after);
  },
  add(flavor, name, value, at) {
    const unique = { instance_type_id: flavor.id, key: name, deleted: 0 };
    const after = { ...unique, value, created_at: at, updated_at: null, deleted_at: null };
    return step(NOVA, { flavor, name }, unique, null, after);
  },
};

const API = { part: "api", table: "flavor_extra_specs", machine: null } as const;

/** Rows are deleted permanently, and restored with their id and times. */
const inNovaApi: Maker = {
  location: ({ id, name }) => `flavors.id=${id} ${name}`,
  set({ id, instance_type_id: flavor_id, key: name, value }, flavor, to) {
    const same = { flavor_id, key: name };
    return step(API, { flavor, name, id }, { id }, { ...same, value }, { ...same, value: to });
  },
  remove(spec, flavor) {
    const { id, instance_type_id: flavor_id, key, value } = spec;
    const { created_at = null, updated_at = null } = spec;
    const before = { id, flavor_id, key, value, created_at, updated_at };
    return step(API, { flavor, name: key, id }, { flavor_id, key }, before, null);
  },
  add(flavor, name, value, at) {
    const unique = { flavor_id: flavor.id, key: name };
    const after = { ...unique, value, created_at: at, updated_at: null };
    return step(API, { flavor, name }, unique, null, after);
  },
};

export const MAKERS: { readonly [schema in FlavorDatabase]: Maker } = {
  nova: inNova,
  nova_api: inNovaApi,
};
