import { MigrationError } from "../../../lib/error.ts";
import { grouped } from "../../../lib/grouped.ts";
import { listed, show } from "../../../lib/text.ts";
import { type Finding, finding, findingIf } from "../../../model/findings.ts";
import type { Images, NovaStep } from "../../../model/nova/nova-plan.ts";
import {
  ALEMBIC,
  hasMovedToApi,
  novaReleaseOf,
  versionName,
} from "../../../model/nova/nova-release.ts";
import type {
  FlavorDatabase,
  FlavorRow,
  FlavorRows,
  SpecRow,
} from "../../../model/nova/nova-rows.ts";
import { OPERATOR } from "../../transform/convert.ts";
import type { gather } from "./facts.ts";

type FlavorFacts = Omit<ReturnType<typeof gather>, "add">;

const KERNEL = "baremetal:deploy_kernel_id";
const RAMDISK = "baremetal:deploy_ramdisk_id";

export interface FlavorsRequest {
  readonly images: Images;
  /** Flavors, by name or flavorid, to change even if they name only one of the two images. */
  readonly selected: ReadonlySet<string>;
  /** Nova schedules by resource class on this target. @source facts/nova-bm.md 4.2: Pike */
  readonly classes: boolean;
  /** A rebuild reads the instance's copy of the flavor. @source facts/nova-bm.md 4.2: Kilo */
  readonly copies: boolean;
}

/**
 * Plans the extra specs of flavors, except deleted ones without instances. @param at naive UTC
 * @source facts/nova-bm.md 4; facts/systems.md D3
 */
export function planFlavors(
  { schema, flavors, specs: all, hosts }: FlavorRows,
  facts: FlavorFacts,
  request: FlavorsRequest,
  at: string,
) {
  const byFlavor = grouped(all, ({ instance_type_id }) => instance_type_id);
  const steps: NovaStep[] = [];
  const findings: Finding[] = [];
  for (const flavor of flavors) {
    const specs = byFlavor.get(flavor.id) ?? [];
    const used = hosts.get(flavor.id) ?? [];
    const hasImages = specs.some(isImage);
    const isChosen = [flavor.name, flavor.flavorid].some((one) => request.selected.has(one ?? ""));
    const wasDeleted = isDeleted(flavor);
    if (wasDeleted && used.length === 0) continue;
    if (!hasImages && !facts.flavors.has(flavor.id) && !isChosen) continue;
    // A server that was never scheduled has no host, so its flavor can have a resource class.
    const elsewhere = used.filter((host) => host !== "" && !facts.hosts.has(host));
    const make = specSteps(schema, flavor, at);
    const location = `${DATABASES[schema].flavors}.id=${flavor.id} ${flavor.name}`;
    const note: FlavorContext["note"] = (code, message) =>
      void findings.push(finding(code, location, message));
    const context = { make, flavor, specs, steps, note };
    const before = steps.length;
    planImages(context, request.images, isChosen);
    noteNeverMatching(context, facts);
    if (elsewhere.length > 0)
      note("N2I-D233", `instances with this flavor are on ${listed(elsewhere, 5)}`);
    else if (request.classes && !wasDeleted) planClass(context, facts);
    if (wasDeleted && steps.length > before) note("N2I-D235", "instances use it");
  }
  return { steps, findings };
}

function isDeleted({ deleted }: FlavorRow): boolean {
  return deleted !== 0 && deleted !== null;
}

function isImage({ key }: SpecRow): boolean {
  return key === KERNEL || key === RAMDISK;
}

interface FlavorContext {
  readonly make: ReturnType<typeof specSteps>;
  readonly flavor: FlavorRow;
  readonly specs: readonly SpecRow[];
  readonly steps: NovaStep[];
  readonly note: (code: Finding["code"], message: string) => void;
}

function setSpec({ make, steps }: FlavorContext, spec: SpecRow, to: string): void {
  if (spec.value !== to) steps.push(make.set(spec, to));
}

function planImages(context: FlavorContext, images: Images, isChosen: boolean): void {
  const { make, flavor, steps, note } = context;
  const specs = context.specs.filter(isImage);
  const keys = new Set(specs.map(({ key }) => key));
  if (keys.size === 1 && !isChosen) {
    note("N2I-D230", `it has only ${[...keys].join()}`);
    return;
  }
  switch (images.do) {
    case "keep":
      if (specs.length > 0) note("N2I-D231", [...keys].join(", "));
      return;
    case "delete":
      steps.push(...specs.map((spec) => make.remove(spec)));
      return;
    case "point": {
      const ids = new Map([
        [KERNEL, images.kernel],
        [RAMDISK, images.ramdisk],
      ]);
      for (const spec of specs) setSpec(context, spec, ids.get(spec.key) ?? "");
      // A deleted flavor gets no new extra specs, because its deletion also deleted them.
      const missing = [...ids].filter(([key]) => isChosen && !isDeleted(flavor) && !keys.has(key));
      steps.push(...missing.map(([key, value]) => make.add(key, value)));
    }
  }
}

/** Keys that ComputeCapabilitiesFilter checks: unscoped, or with the scope `capabilities:`. */
function scopedKey(key: string): string | null {
  const [scope = "", ...rest] = key.split(":");
  if (rest.length === 0) return key;
  return scope === "capabilities" ? rest.join(":") : null;
}

function noteNeverMatching({ specs, note }: FlavorContext, { advertised }: FlavorFacts): void {
  const never = specs.flatMap(({ key, value }) => {
    const scoped = scopedKey(key);
    if (scoped === null) return [];
    const values = advertised.get(scoped);
    if (values === undefined) return [key];
    const text = value ?? "";
    if (values.has(text) || OPERATOR.test(text)) return [];
    return [`${key} is ${show(text)}, and machines have ${listed([...values].map(show), 3)}`];
  });
  if (never.length > 0) note("N2I-D232", never.join(", "));
}

/**
 * `CUSTOM_` and the class as Nova normalizes it: runs of other characters become one underscore.
 * @source facts/nova-bm.md 4.2; nova 18.0.0:nova/objects/fields.py ResourceClass.normalize_name
 */
export function customClass(name: string): string {
  return `CUSTOM_${name.replaceAll(/[^0-9A-Za-z]+/g, "_").toUpperCase()}`;
}

function planClass(context: FlavorContext, { flavors, classes }: FlavorFacts): void {
  const { make, flavor, specs, steps, note } = context;
  const of = [...(flavors.get(flavor.id) ?? classes)];
  const [first] = of;
  if (first === undefined || first === null || of.length > 1) {
    const names = of.map((name) => name ?? "none").join(", ");
    note("N2I-D234", names || "no machine has one");
    return;
  }
  const resources = {
    [`resources:${customClass(first)}`]: "1",
    ...{ "resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0" },
  };
  for (const [key, value] of Object.entries(resources)) {
    const existing = specs.filter((spec) => spec.key === key);
    if (existing.length === 0) steps.push(make.add(key, value));
    for (const spec of existing) setSpec(context, spec, value);
  }
}

export function judgeImages(
  facts: FlavorFacts,
  { images, copies }: FlavorsRequest,
): readonly Finding[] {
  const otherIds =
    images.do === "point"
      ? [...facts.images].filter((id) => id !== images.kernel && id !== images.ramdisk)
      : [];
  return [
    ...findingIf(otherIds.length > 0, "N2I-D236", "driver_info", otherIds.slice(0, 5).join(", ")),
    ...[...facts.copies].map(([flavor, { instances, some, images: old }]) => {
      const more = instances > some.length ? ` and ${instances - some.length} more` : "";
      return finding(
        copies ? "N2I-D237" : "N2I-D238",
        `instance_extra.flavor ${flavor}`,
        `${[...old].join(", ")} in instances ${some.join(", ")}${more}`,
      );
    }),
  ];
}

/** Parts of Nova that the plan did not check. @param api flavors of nova_api were checked */
export function judgeSchema(version: number, api: boolean, moving: boolean): readonly Finding[] {
  if (!hasMovedToApi(version)) return [];
  const location =
    version === ALEMBIC
      ? `nova ${versionName(version)}`
      : `nova ${version} (${novaReleaseOf(version)})`;
  return [
    ...findingIf(!api, "N2I-D240", location, "--nova-api-db is not specified"),
    ...findingIf(moving, "N2I-D241", location, "--compute-host moves instances"),
  ];
}

const MOST = 10;

/** Refuses a `--flavor` without a match. @throws MigrationError N2I-E107 */
export function refuseUnknown(selected: ReadonlySet<string>, rows: readonly FlavorRows[]): void {
  const existing = rows.flatMap(({ flavors, hosts }) =>
    flavors.filter((flavor) => !isDeleted(flavor) || (hosts.get(flavor.id) ?? []).length > 0),
  );
  const identifiers = new Set(existing.flatMap(({ name, flavorid }) => [name, flavorid]));
  const unknown = [...selected].filter((name) => !identifiers.has(name));
  if (unknown.length === 0) return;
  const names = [...new Set(existing.map(({ name }) => show(name ?? "")))].toSorted();
  const text = `--flavor ${unknown.map(show).join(", ")} matches no flavor. Flavors: ${listed(names, MOST) || "none"}`;
  const fix = "Specify a flavor's name or flavorid. Newton and later require --nova-api-db.";
  throw new MigrationError("N2I-E107", text, { fix });
}

/**
 * How a database stores extra specs. In nova, `deleted` of a soft-deleted row becomes the row's id.
 * In nova_api, rows are deleted permanently, and restored with their id and times.
 * @source facts/nova-bm.md 4.3
 */
const DATABASES = {
  nova: {
    part: "flavors",
    table: "instance_type_extra_specs",
    owner: "instance_type_id",
    flavors: "instance_types",
    soft: true,
  },
  nova_api: {
    part: "api",
    table: "flavor_extra_specs",
    owner: "flavor_id",
    flavors: "flavors",
    soft: false,
  },
} as const;

function specSteps(database: FlavorDatabase, flavor: FlavorRow, at: string) {
  const { part, table, owner, soft } = DATABASES[database];
  const step = (
    name: string,
    id: number | string,
    key: NovaStep["key"],
    before: NovaStep["before"],
    after: NovaStep["after"],
  ): NovaStep => {
    const of = `flavor ${flavor.name ?? flavor.flavorid ?? "without name"} ${name}`;
    return { part, table, machine: null, id: `${table}:${id}`, key, before, after, of };
  };
  return {
    set({ id, instance_type_id, key, value, deleted }: SpecRow, to: string): NovaStep {
      const same = { [owner]: instance_type_id, key, ...(soft && { deleted }) };
      return step(key, id, { id }, { ...same, value }, { ...same, value: to });
    },
    remove(spec: SpecRow): NovaStep {
      const { id, instance_type_id, key, value, deleted, deleted_at } = spec;
      const same = { [owner]: instance_type_id, key, value };
      if (soft) {
        const after = { ...same, deleted: id, deleted_at: at };
        return step(key, id, { id }, { ...same, deleted, deleted_at }, after);
      }
      const { created_at = null, updated_at = null } = spec;
      const before = { id, ...same, created_at, updated_at };
      return step(key, id, { [owner]: instance_type_id, key }, before, null);
    },
    add(key: string, value: string): NovaStep {
      const unique = { [owner]: flavor.id, key, ...(soft && { deleted: 0 }) };
      const created = { ...unique, value, created_at: at, updated_at: null };
      const after = { ...created, ...(soft && { deleted_at: null }) };
      return step(key, `${flavor.id}/${key}`, unique, null, after);
    },
  };
}
