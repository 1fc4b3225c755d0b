import { MigrationError } from "../../../lib/error.ts";
import { grouped } from "../../../lib/grouped.ts";
import { listed, show } from "../../../lib/text.ts";
import { type Finding, finding, findingIf } from "../../../model/finding.ts";
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
import { MAKERS } from "./steps.ts";

/** Facts about machines that flavors are checked against. */
type FlavorFacts = Omit<ReturnType<typeof gather>, "add">;

const KERNEL = "baremetal:deploy_kernel_id";
const RAMDISK = "baremetal:deploy_ramdisk_id";

export interface FlavorsRequest {
  readonly images: Images;
  /** Flavors, by name or flavorid, to change even if they name only one of the two images. */
  readonly named: ReadonlySet<string>;
  /** Nova schedules by resource class on this target. @source facts/nova-bm.md 4.2: Pike */
  readonly classes: boolean;
  /** A rebuild reads the instance's copy of the flavor. @source facts/nova-bm.md 4.2: Kilo */
  readonly copies: boolean;
}

interface PlannedFlavors {
  readonly steps: readonly NovaStep[];
  readonly findings: readonly Finding[];
}

/**
 * Plans the extra specs of flavors, except deleted ones without instances. @param at naive UTC
 * @source facts/nova-bm.md 4; facts/systems.md D3
 */
export function planFlavors(
  { place, flavors, specs, hosts }: FlavorRows,
  facts: FlavorFacts,
  asked: FlavorsRequest,
  at: string,
): PlannedFlavors {
  const byFlavor = grouped(specs, ({ instance_type_id }) => instance_type_id);
  const planned = flavors.map((flavor): PlannedFlavors => {
    const own = byFlavor.get(flavor.id) ?? [];
    const used = hosts.get(flavor.id) ?? [];
    const images = own.filter(namesImages);
    const named = [flavor.name, flavor.flavorid].some((one) => asked.named.has(one ?? ""));
    const gone = isDeleted(flavor);
    if (gone && used.length === 0) return NOTHING;
    if (images.length === 0 && !facts.flavors.has(flavor.id) && !named) return NOTHING;
    // A server that was never scheduled has no host, so its flavor can have a resource class.
    const elsewhere = used.filter((host) => host !== "" && !facts.hosts.has(host));
    const plan = { place, flavor, specs: own, at };
    const parts = [
      imagesOf({ ...plan, specs: images }, asked.images, named),
      neverMatching(plan, facts),
      elsewhere.length === 0
        ? NOTHING
        : only("N2I-D233", plan, `instances with this flavor are on ${listed(elsewhere, 5)}`),
      asked.classes && elsewhere.length === 0 && !gone ? classOf(plan, facts) : NOTHING,
    ];
    const all = together(parts);
    return gone && all.steps.length > 0
      ? { ...all, findings: [...all.findings, findingOf("N2I-D235", plan, "instances use it")] }
      : all;
  });
  return together(planned);
}

function isDeleted({ deleted }: FlavorRow): boolean {
  return deleted !== 0 && deleted !== null;
}

function namesImages({ key }: SpecRow): boolean {
  return key === KERNEL || key === RAMDISK;
}

const NOTHING: PlannedFlavors = { steps: [], findings: [] };

function together(parts: readonly PlannedFlavors[]): PlannedFlavors {
  return {
    steps: parts.flatMap(({ steps }) => steps),
    findings: parts.flatMap(({ findings }) => findings),
  };
}

interface FlavorContext {
  readonly place: FlavorDatabase;
  readonly flavor: FlavorRow;
  readonly specs: readonly SpecRow[];
  readonly at: string;
}

function findingOf(
  code: Finding["code"],
  { place, flavor }: FlavorContext,
  message: string,
): Finding {
  return finding(code, MAKERS[place].place(flavor), message);
}

/** A finding without a step. */
function only(code: Finding["code"], own: FlavorContext, message: string): PlannedFlavors {
  return { steps: [], findings: [findingOf(code, own, message)] };
}

function setSpec({ place, flavor }: FlavorContext, spec: SpecRow, to: string): readonly NovaStep[] {
  return spec.value === to ? [] : [MAKERS[place].set(spec, flavor, to)];
}

function imagesOf(own: FlavorContext, images: Images, named: boolean): PlannedFlavors {
  const { place, flavor, specs, at } = own;
  const make = MAKERS[place];
  const keys = new Set(specs.map(({ key }) => key));
  if (keys.size === 1 && !named) {
    const [key] = keys;
    return only("N2I-D230", own, `it has only ${key}`);
  }
  switch (images.do) {
    case "keep":
      return specs.length === 0 ? NOTHING : only("N2I-D231", own, [...keys].join(", "));
    case "delete":
      return { steps: specs.map((spec) => make.remove(spec, flavor, at)), findings: [] };
    case "point": {
      const wanted = new Map([
        [KERNEL, images.kernel],
        [RAMDISK, images.ramdisk],
      ]);
      // A deleted flavor gets no new extra specs, because its deletion also deleted them.
      const missing = [...wanted].filter(([key]) => !keys.has(key) && named && !isDeleted(flavor));
      return {
        findings: [],
        steps: [
          ...specs.flatMap((spec) => setSpec(own, spec, wanted.get(spec.key) ?? "")),
          ...missing.map(([key, value]) => make.add(flavor, key, value, at)),
        ],
      };
    }
  }
}

/** Keys that ComputeCapabilitiesFilter checks: unscoped, or with the scope `capabilities:`. */
function scopedKey(key: string): string | null {
  const [scope = "", ...rest] = key.split(":");
  if (rest.length === 0) return key;
  return scope === "capabilities" ? rest.join(":") : null;
}

function neverMatching(own: FlavorContext, { advertised }: FlavorFacts): PlannedFlavors {
  const never = own.specs.flatMap(({ key, value }) => {
    const wanted = scopedKey(key);
    if (wanted === null) return [];
    const values = advertised.get(wanted);
    if (values === undefined) return [key];
    const text = value ?? "";
    if (values.has(text) || OPERATOR.test(text)) return [];
    return [`${key} is ${show(text)}, and machines have ${listed([...values].map(show), 3)}`];
  });
  return never.length === 0 ? NOTHING : only("N2I-D232", own, never.join(", "));
}

/**
 * `CUSTOM_` and the class as Nova normalizes it: runs of other characters become one underscore.
 * @source facts/nova-bm.md 4.2; nova 18.0.0:nova/objects/fields.py ResourceClass.normalize_name
 */
export function customClass(name: string): string {
  return `CUSTOM_${name.replaceAll(/[^0-9A-Za-z]+/g, "_").toUpperCase()}`;
}

function classOf(own: FlavorContext, { flavors, classes }: FlavorFacts): PlannedFlavors {
  const { place, flavor, specs, at } = own;
  const of = [...(flavors.get(flavor.id) ?? classes)];
  const [first] = of;
  if (first === undefined || first === null || of.length > 1) {
    const names = of.map((name) => name ?? "none").join(", ");
    return only("N2I-D234", own, names || "no machine has one");
  }
  const wanted = {
    [`resources:${customClass(first)}`]: "1",
    ...{ "resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0" },
  };
  return {
    findings: [],
    steps: Object.entries(wanted).flatMap(([key, value]) => {
      const there = specs.filter((spec) => spec.key === key);
      return there.length === 0
        ? [MAKERS[place].add(flavor, key, value, at)]
        : there.flatMap((spec) => setSpec(own, spec, value));
    }),
  };
}

/** Conflicts between all machines and the flavor options. */
export function judgeImages(
  facts: FlavorFacts,
  { images, copies }: FlavorsRequest,
): readonly Finding[] {
  const others =
    images.do === "point"
      ? [...facts.images].filter((id) => id !== images.kernel && id !== images.ramdisk)
      : [];
  return [
    ...findingIf(others.length > 0, "N2I-D236", "driver_info", others.slice(0, 5).join(", ")),
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
  const place =
    version === ALEMBIC
      ? `nova ${versionName(version)}`
      : `nova ${version} (${novaReleaseOf(version)})`;
  return [
    ...findingIf(!api, "N2I-D240", place, "--nova-api-db is not specified"),
    ...findingIf(moving, "N2I-D241", place, "--compute-host moves instances"),
  ];
}

/** A refusal names at most this many flavors. */
const MOST = 10;

/** Refuses a `--flavor` without a match. @throws MigrationError N2I-E107 */
export function refuseUnknown(named: ReadonlySet<string>, places: readonly FlavorRows[]): void {
  const known = places.flatMap(({ flavors, hosts }) =>
    flavors.filter((flavor) => !isDeleted(flavor) || (hosts.get(flavor.id) ?? []).length > 0),
  );
  const words = new Set(known.flatMap(({ name, flavorid }) => [name, flavorid]));
  const unknown = [...named].filter((word) => !words.has(word));
  if (unknown.length === 0) return;
  const names = [...new Set(known.map(({ name }) => show(name ?? "")))].toSorted();
  throw new MigrationError(
    "N2I-E107",
    `--flavor ${unknown.map(show).join(", ")} matches no flavor. Flavors: ${listed(names, MOST) || "none"}`,
    { fix: "Specify a flavor's name or flavorid. Newton and later require --nova-api-db." },
  );
}
