import type { NovaStep } from "../../model/nova-plan.ts";
import type { FlavorPlace, FlavorRow, SpecRow } from "../../model/nova-rows.ts";

/** How an extra spec comes, changes and goes where it is. */
interface Maker {
  /** What is found of a flavor is told about this. */
  readonly place: (flavor: FlavorRow) => string;
  readonly set: (spec: SpecRow, flavor: FlavorRow, to: string) => NovaStep;
  readonly remove: (spec: SpecRow, flavor: FlavorRow, at: string) => NovaStep;
  /** @param at naive UTC */
  readonly add: (flavor: FlavorRow, key: string, value: string, at: string) => NovaStep;
}

function ofFlavor({ name, flavorid }: FlavorRow, key: string): string {
  return `flavor ${name ?? flavorid ?? "without name"} ${key}`;
}

const NOVA = { part: "flavors", table: "instance_type_extra_specs", machine: null } as const;

/** Rows that are deleted softly: `deleted` is the row's own id, `updated_at` stays. @source facts/nova-bm.md 4.3 */
const inNova: Maker = {
  place: ({ id, name }) => `instance_types.id=${id} ${name}`,
  set({ id, instance_type_id, key, value, deleted }, flavor, to) {
    const same = { instance_type_id, key, deleted };
    return {
      ...NOVA,
      id: `${NOVA.table}:${id}`,
      key: { id },
      before: { ...same, value },
      after: { ...same, value: to },
      of: ofFlavor(flavor, key),
    };
  },
  remove({ id, instance_type_id, key, value, deleted, deleted_at }, flavor, at) {
    const same = { instance_type_id, key, value };
    return {
      ...NOVA,
      id: `${NOVA.table}:${id}`,
      key: { id },
      before: { ...same, deleted, deleted_at },
      after: { ...same, deleted: id, deleted_at: at },
      of: ofFlavor(flavor, key),
    };
  },
  add(flavor, key, value, at) {
    const unique = { instance_type_id: flavor.id, key, deleted: 0 };
    return {
      ...NOVA,
      id: `${NOVA.table}:${flavor.id}/${key}`,
      key: unique,
      before: null,
      after: { ...unique, value, created_at: at, updated_at: null, deleted_at: null },
      of: ofFlavor(flavor, key),
    };
  },
};

const API = { part: "api", table: "flavor_extra_specs", machine: null } as const;

/** Rows that are deleted for good, and come back with the id and the times they had. */
const inNovaApi: Maker = {
  place: ({ id, name }) => `flavors.id=${id} ${name}`,
  set({ id, instance_type_id: flavor_id, key, value }, flavor, to) {
    const same = { flavor_id, key };
    return {
      ...API,
      id: `${API.table}:${id}`,
      key: { id },
      before: { ...same, value },
      after: { ...same, value: to },
      of: ofFlavor(flavor, key),
    };
  },
  remove(spec, flavor) {
    const { id, instance_type_id: flavor_id, key, value } = spec;
    const { created_at = null, updated_at = null } = spec;
    return {
      ...API,
      id: `${API.table}:${id}`,
      key: { flavor_id, key },
      before: { id, flavor_id, key, value, created_at, updated_at },
      after: null,
      of: ofFlavor(flavor, key),
    };
  },
  add(flavor, key, value, at) {
    const unique = { flavor_id: flavor.id, key };
    return {
      ...API,
      id: `${API.table}:${flavor.id}/${key}`,
      key: unique,
      before: null,
      after: { ...unique, value, created_at: at, updated_at: null },
      of: ofFlavor(flavor, key),
    };
  },
};

/** What a service tells of an extra spec is its value, and nothing else. */
const overRest: Maker = {
  place: ({ flavorid, name }) => `flavor ${flavorid} ${name}`,
  set: ({ key, value }, flavor, to) => call(flavor, key, value, to),
  remove: ({ key, value }, flavor) => call(flavor, key, value, null),
  add: (flavor, key, value) => call(flavor, key, null, value),
};

function call(flavor: FlavorRow, key: string, from: string | null, to: string | null): NovaStep {
  const { flavorid } = flavor;
  return {
    ...({ part: "api", table: "os-extra_specs", machine: null } as const),
    id: `os-extra_specs:${flavorid}/${key}`,
    key: { flavorid, key },
    before: from === null ? null : { value: from },
    after: to === null ? null : { value: to },
    of: ofFlavor(flavor, key),
  };
}

export const MAKERS: { readonly [place in FlavorPlace]: Maker } = {
  nova: inNova,
  nova_api: inNovaApi,
  rest: overRest,
};
