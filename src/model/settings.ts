/** nova-scheduler and nova-compute in nova.conf, ironic-conductor in ironic.conf. */
export type SettingsPart = "scheduler" | "compute" | "conductor";

/** Releases in their order, inclusive. */
interface Span {
  readonly since?: string;
  readonly until?: string;
}

/** A setting that machines in Ironic need. Described in mappings/schema/settings.schema.json */
export interface Setting extends Span {
  readonly part: SettingsPart;
  readonly section: string;
  readonly key: string;
  readonly value?: string;
  readonly bound?: "at-most" | "at-least";
  readonly default?: string;
  readonly also?: readonly string[];
  readonly or?: string;
  readonly formerly?: { readonly section: string; readonly key: string };
  readonly secret?: true;
  readonly only?: "exact-filters";
  readonly why: string;
  readonly source: string;
}

export interface SettingsDoc {
  readonly seen: string;
  readonly settings: readonly Setting[];
  /** For Nova, unless they name a part. */
  readonly notes: readonly (Span & { readonly say: string; readonly part?: "conductor" })[];
}

/** Value in the patch if only the site knows it. The checker treats it as not set. */
export const PLACEHOLDER = "CHANGE_ME";

/** `bound`: kind of limit of `wanted`. `default`: effective value if not set. */
export interface SettingRow extends Pick<Setting, "section" | "key" | "bound" | "default" | "why"> {
  readonly host: string;
  /** Null: the site's own value. */
  readonly wanted: string | null;
  /** Null: not set. Secrets are never shown. */
  readonly found: string | null;
  readonly state: "right" | "wrong" | "missing";
  /** `file:line` of the value. */
  readonly where: string | null;
}

/** A flavor of instances, or one that matches our machines. In MiB and GiB. */
export type FlavorSize = {
  readonly [size in "vcpus" | "memory_mb" | "root_gb" | "ephemeral_gb" | "swap_mb"]: number;
} & { readonly name: string };

/** MiB of disk of a flavor. @source facts/systems.md D4 */
export function diskOf({ root_gb, ephemeral_gb, swap_mb }: FlavorSize): number {
  return 1024 * (root_gb + ephemeral_gb) + swap_mb;
}

export interface MachineFlavor {
  readonly name: string | null;
  readonly size: FlavorSize;
  readonly extra_specs: { readonly [key: string]: string | null };
}

export interface Configured {
  readonly get: (section: string, key: string) => string | null;
  readonly where: (section: string, key: string) => string | null;
}
