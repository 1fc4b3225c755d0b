/** Whose settings: nova-scheduler's and nova-compute's in nova.conf, ironic-conductor's in ironic.conf. */
export type SettingsPart = "scheduler" | "compute" | "conductor";

/** Releases by their order; both ends count. */
interface Span {
  readonly since?: string;
  readonly until?: string;
}

/** A setting that machines in Ironic need. mappings/schema/settings.schema.json has the form. */
export interface Setting extends Span {
  readonly part: SettingsPart;
  readonly section: string;
  readonly key: string;
  /** What it must be; absent: the site's own value, but something. */
  readonly value?: string;
  /** The value is a limit. `at-most` excludes 0, which turns a periodic task off. */
  readonly bound?: Bound;
  /** In force if the file does not set it. */
  readonly default?: string;
  /** Other spellings that are as right. */
  readonly also?: readonly string[];
  /** Another key of the section that does as well. */
  readonly or?: string;
  /** The older name, which counts where the newer one is not set, as a deprecated name does in oslo. */
  readonly formerly?: { readonly section: string; readonly key: string };
  readonly secret?: true;
  readonly only?: "exact-filters";
  readonly why: string;
  readonly source: string;
}

type Bound = "at-most" | "at-least";

export interface SettingsDoc {
  /** Newest release a source speaks of, of Nova. */
  readonly seen: string;
  readonly settings: readonly Setting[];
  /** Of Nova, where they name no part. */
  readonly notes: readonly (Span & { readonly say: string; readonly part?: "conductor" })[];
}

/** What the patch puts where only the site knows the value, and what is no value to the checker. */
export const PLACEHOLDER = "CHANGE_ME";

/** One host's files, as oslo.config reads them; `where` is `file:line`. */
export interface Configured {
  readonly get: (section: string, key: string) => string | null;
  readonly where: (section: string, key: string) => string | null;
}

export interface SettingRow {
  readonly host: string;
  readonly section: string;
  readonly key: string;
  /** Null: the site's own value. */
  readonly wanted: string | null;
  /** What `wanted` is a limit of. */
  readonly bound?: Bound;
  /** Null: not set. A secret is never shown. */
  readonly found: string | null;
  /** In force where it is not set. */
  readonly default?: string;
  readonly state: "right" | "wrong" | "missing";
  /** `file:line` of what is set. */
  readonly where: string | null;
  readonly why: string;
}

/** A flavor in use by instances, or one that names machines like ours. */
export interface FlavorSize {
  readonly name: string;
  readonly vcpus: number;
  /** MiB. */
  readonly memory_mb: number;
  /** GiB. */
  readonly root_gb: number;
  readonly ephemeral_gb: number;
  /** MiB. */
  readonly swap_mb: number;
}

/** MiB of disk a flavor asks for. @source facts/systems.md D4 */
export function diskOf({ root_gb, ephemeral_gb, swap_mb }: FlavorSize): number {
  return 1024 * (root_gb + ephemeral_gb) + swap_mb;
}

/** A live flavor that is for machines, whether or not an instance has it. */
export interface MachineFlavor {
  readonly name: string | null;
  readonly size: FlavorSize;
  readonly extra_specs: { readonly [key: string]: string | null };
}

/** A machine as the scheduler will see it. */
export interface NodeSize {
  readonly cpus: number | null;
  /** MiB. */
  readonly memory_mb: number | null;
  /** GiB. */
  readonly local_gb: number | null;
}
