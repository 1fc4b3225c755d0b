import { FORMATS, type FormatOptions, QUOTES } from "../../lib/table/format.ts";
import { WATCH_SECONDS } from "../../model/ironic/service.ts";
import { releaseNames } from "../../run/files/load-tables.ts";
import { OPTIONS } from "../../run/next.ts";
import { flag, grouped, list, number, type OptionTable, string } from "./declared.ts";

const WITH_NOVA = "With --nova-db";
/** Seconds. */
const LONGEST_WATCH = 3600;

/** `group:rack7` without a name is an incomplete value, not a host. */
const COMPUTE_HOST = [
  /^(?:(?:(?:host|group|shard):|(?![a-z]+:))[^\s=](?:[^=]*[^\s=])?=)?(?!(?:host|group|shard):)[^\s=](?:[^=]{0,253}[^\s=])?$/,
  "NAME, HOST=NAME, group:GROUP=NAME or shard:SHARD=NAME, without spaces around names",
] as const;
const IMAGE = [/^(?:name:.+|[\w.-]{1,255})$/s, "an image id, or name:NAME"] as const;

const NOVA = grouped("Nova:", {
  "nova-db": string("Nova's database: URL without password, file:PATH, env:NAME or conf:PATH"),
  "nova-api-db": string(
    "The nova_api database, in the same form. It contains flavors since Newton",
  ),
  watch: number(`${WITH_NOVA}: seconds to check that nova-compute does not send heartbeats`, {
    default: WATCH_SECONDS,
    most: LONGEST_WATCH,
  }),
  "allow-running-compute": flag(`${WITH_NOVA}: continue even if a nova-compute reports`),
  "allow-queued-requests": flag(`${WITH_NOVA}: continue even if nova-compute has queued requests`),
  // The operator confirms that no nova-compute runs.
  "leave-nova": flag("Change only Ironic"),
  "compute-host": list(
    `${WITH_NOVA}: [HOST=|group:GROUP=|shard:SHARD=]NAME, the new compute host of the instances`,
    { form: COMPUTE_HOST },
  ),
  "flavor-images": string(
    `${WITH_NOVA}: deploy images of flavors (default: point if new images are specified, else keep)`,
    { choices: ["keep", "point", "delete"] },
  ),
  "deploy-kernel": string("Glance id of the new deploy kernel, or name:NAME", { form: IMAGE }),
  "deploy-ramdisk": string("Glance id of the new deploy ramdisk, or name:NAME", { form: IMAGE }),
  flavor: list("Also change this flavor (name or flavorid), which has only one of the two images"),
});

const IRONIC = grouped("Ironic:", {
  "ironic-db": string("Ironic's database: URL without password, file:PATH, env:NAME or conf:PATH"),
  via: {
    choices: ["db", "rest"],
    requiresArg: true,
    describe: "Backend: db writes rows to the database, rest adopts machines over the API",
  },
  "ironic-url": string("REST: URL of the bare metal service. Credentials are in OS_* variables"),
  "in-flight": number("REST: maximum number of concurrent machines (8)", { least: 1 }),
  "lock-wait": number("Seconds to wait for machines that a conductor has reserved", {
    default: 60,
  }),
});

const CLOUD = grouped("OpenStack:", {
  "os-cloud": string("Cloud in clouds.yaml and secure.yaml (default: OS_CLOUD)"),
  "os-cacert": string("CA certificates (PEM)"),
  insecure: { type: "boolean", describe: "Do not verify certificates" },
  "api-timeout": number("Maximum seconds for an API call (60)", { above: 0 }),
});

/** With `--diff`. */
export const ALL_ROWS =
  "Show every row. By default, a long list is grouped by cause. With --diff, also show NULL fields";

/** Options with the same meaning in every command. */
export const SHARED = {
  ...{ ...NOVA, ...IRONIC, ...CLOUD },
  run: string("The run's folder", { demandOption: true }),
  "key-file": string("Key of the run's secrets (default: RUN/secret.key)"),
  "nova-bm-db": string("nova_bm: URL without password, file:PATH, env:NAME or conf:PATH", {
    demandOption: true,
  }),
  "ironic-release": string("Release of Ironic", { choices: releaseNames() }),
  "conductor-ipmitool": string(
    "Version of ipmitool on the conductors, such as 1.8.19 (default: the version for the release)",
    { form: [/^\d+\.\d+\.\d+/, "a version, such as 1.8.19"] },
  ),
  // The machines belong to Nova after finish.
  "after-finish": flag("Run the command although finish has ended this run"),
  "no-window": string("Allow writes although the run's window is closed, and record this reason"),
  yes: flag("Answer yes to every question. Required without a terminal", { alias: "y" }),
  diff: { type: "string", describe: "Show every field and its origin, for one machine or for all" },
  "all-rows": flag(ALL_ROWS, { alias: "all" }),
} satisfies OptionTable;

/** Connections to Ironic, for commands with both backends. */
export const TARGET = [
  ...["ironic-db", "via", "ironic-url", "os-cloud", "os-cacert", "insecure", "api-timeout"],
] as const satisfies readonly (keyof typeof SHARED)[];

export const NOVA_DATABASES = ["nova-db", "nova-api-db"] as const;

/** Common options, in the given order. */
export function common(...names: readonly (keyof typeof SHARED)[]): OptionTable {
  return Object.fromEntries(names.map((name) => [name, SHARED[name]]));
}

/** A common option with another description. */
export function meaning(name: keyof typeof SHARED, describe: string): OptionTable {
  return { [name]: { ...SHARED[name], describe } };
}

/** A common option that this command requires. */
export function needed(name: keyof typeof SHARED): OptionTable {
  return { [name]: { ...SHARED[name], demandOption: true } };
}

/** Machines by uuid. @param which the effect: `Only this machine` */
export function nodeOption(which: string): OptionTable {
  return { node: list(`${which}: uuid or bm_nodes.id`) };
}

/** Options of every command. */
export const everyCommand = grouped("Every command:", {
  quiet: flag("Do not print progress", { alias: "q" }),
  verbose: flag("Print every row, progress every second, and the duration of each stage", {
    alias: "v",
  }),
  json: flag("Print progress as JSON lines on stderr"),
  "progress-interval": number("Seconds between progress lines if there is no terminal", {
    default: 30,
  }),
  "db-timeout": number("Maximum seconds for a database statement", { default: 120, least: 1 }),
  config: string("Connections file (default: NOVA2IRONIC_CONFIG, or ./nova2ironic.yaml)"),
  without: list("Ignore this option's value from nova2ironic.yaml and from the run. Repeatable", {
    choices: [...OPTIONS.connections, ...OPTIONS.decisions],
  }),
  debug: flag("If an error occurs, show its origin in the code"),
});

/**
 * Named as in OpenStack's clients.
 *
 * @source openstack/cliff, cliff/display.py, lister.py, formatters/table.py
 */
export const formatOptions = grouped("Output:", {
  format: {
    alias: "f",
    choices: FORMATS,
    default: "table" as FormatOptions["format"],
    describe: "Output format",
  },
  column: list("Show only this column. Repeatable. Columns keep the specified order", {
    alias: "c",
  }),
  "sort-column": list("Sort by this column. Repeatable. All rows are kept in memory"),
  noindent: { type: "boolean", describe: "json: print everything on one line" },
  quote: {
    choices: QUOTES,
    default: "nonnumeric" as NonNullable<FormatOptions["quote"]>,
    describe: "csv: values to quote",
  },
  "max-width": number("table: maximum width in characters (CLIFF_MAX_TERM_WIDTH)"),
  "fit-width": {
    type: "boolean",
    describe: "table: fit the table to the screen (CLIFF_FIT_WIDTH=1)",
  },
  "print-empty": { type: "boolean", describe: "table: print the header even without rows" },
});

const lists = {
  match: list(
    "Show only rows with COLUMN=VALUE. * matches any text. Values of one column are alternatives",
  ),
  "all-rows": flag("table: show every row. By default, a long table is grouped by cause"),
};

export const listOptions = {
  ...formatOptions,
  ...grouped("Output:", { ...lists, "all-rows": { ...lists["all-rows"], alias: "all" } }),
};

/** For commands with another --all. */
export const listOptionsWithoutAll = { ...formatOptions, ...grouped("Output:", lists) };

/** For commands with a table only. */
export const matchOption = grouped("Output:", { match: lists.match });
