import { WATCH_SECONDS } from "../../model/ironic/service.ts";
import { releaseNames } from "../../run/files/load-tables.ts";
import { flag, grouped, number, type OptionTable, word, words } from "./declared.ts";

const WANT_NOVA = "With --nova-db";
/** Seconds that heartbeats may be watched. */
const LONGEST_WATCH = 3600;

/** No name begins or ends with a blank. `group:rack7` without a name is an incomplete value, not a host. */
const COMPUTE_HOST = [
  /^(?:(?:(?:host|group|shard):|(?![a-z]+:))[^\s=](?:[^=]*[^\s=])?=)?(?!(?:host|group|shard):)[^\s=](?:[^=]{0,253}[^\s=])?$/,
  "NAME, HOST=NAME, group:GROUP=NAME or shard:SHARD=NAME, without blanks around names",
] as const;
const IMAGE = [/^(?:name:.+|[\w.-]{1,255})$/s, "an image id, or name:NAME"] as const;

/** Where Nova is, and how its nova-computes are watched. */
const NOVA = grouped("Nova:", {
  "nova-db": word("Nova's database: URL without password, file:PATH, env:NAME or conf:PATH"),
  // Flavors are there since Newton.
  "nova-api-db": word("nova_api's database, given the same way: it has the flavors since Newton"),
  watch: number(`${WANT_NOVA}: seconds that nova-compute's heartbeats are watched standing still`, {
    default: WATCH_SECONDS,
    most: LONGEST_WATCH,
  }),
  "allow-running-compute": flag(`${WANT_NOVA}: go on though a nova-compute still reports`),
  "allow-queued-requests": flag(
    `${WANT_NOVA}: go on though requests wait in a nova-compute's message queue`,
  ),
  // The operator's word that no nova-compute runs, where nobody looks.
  "leave-nova": flag("Act on Ironic alone"),
  "compute-host": words(
    `${WANT_NOVA}: [HOST=|group:GROUP=|shard:SHARD=]NAME, the compute host that takes instances over`,
    { form: COMPUTE_HOST },
  ),
  "flavor-images": word(
    `${WANT_NOVA}: deploy images of flavors; point them to the new ones when these are given`,
    { choices: ["keep", "point", "delete"] },
  ),
  "deploy-kernel": word("Glance id of the new deploy kernel, or name:NAME to look it up", {
    form: IMAGE,
  }),
  "deploy-ramdisk": word("Glance id of the new deploy ramdisk, or name:NAME", { form: IMAGE }),
  flavor: words("Change this flavor too, though it names one image of two: name or flavorid"),
});

/** Where Ironic is, and how fast it is worked with. */
const IRONIC = grouped("Ironic:", {
  "ironic-db": word("Ironic's database: URL without password, file:PATH, env:NAME or conf:PATH"),
  via: {
    choices: ["db", "rest"],
    requiresArg: true,
    describe: "Backend: rows into the database, or adoption over REST",
  },
  "ironic-url": word("REST: URL of the bare metal service; OS_* say how to log in"),
  // How many machines are adopted or deleted at once.
  "in-flight": number("REST: machines under way at once (8)", { least: 1 }),
  "lock-wait": number("Seconds to wait for conductors that have reserved machines", {
    default: 60,
  }),
});

/** How a cloud's APIs are called. */
const CLOUD = grouped("OpenStack:", {
  "os-cloud": word("Cloud of clouds.yaml and secure.yaml; OS_CLOUD without it"),
  "os-cacert": word("File of authorities (PEM)"),
  insecure: { type: "boolean", describe: "Do not check certificates" },
  "api-timeout": number("Seconds that a call may take (60)", { above: 0 }),
});

/** What `--all-rows` means where `--diff` is. */
export const ALL_ROWS =
  "Every row; without it, a long list is grouped by cause. With --diff, fields left NULL too";

/** What means the same to every command that has it. */
export const SHARED = {
  ...{ ...NOVA, ...IRONIC, ...CLOUD },
  run: word("The run's folder", { demandOption: true }),
  "key-file": word("Key that seals the run's secrets; RUN/secret.key without it"),
  "nova-bm-db": word("nova_bm: URL without password, file:PATH, env:NAME or conf:PATH", {
    demandOption: true,
  }),
  "ironic-release": word("Release of Ironic", { choices: releaseNames() }),
  "conductor-ipmitool": word(
    "Version of ipmitool on the conductors, 1.8.19; by default what the release came with",
    { form: [/^\d+\.\d+\.\d+/, "a version, such as 1.8.19"] },
  ),
  // Machines that Nova manages once a run is finished.
  "after-finish": flag("Do it though finish ended this run"),
  "no-window": word("Why this may write though the run's window is closed; recorded"),
  yes: flag("Do not ask; needed without a terminal", { alias: "y" }),
  diff: { type: "string", describe: "Show every field with its origin, of one machine or all" },
  "all-rows": flag(ALL_ROWS, { alias: "all" }),
} satisfies OptionTable;

/** Where Ironic is, for commands that take both backends. */
export const TARGET = [
  ...["ironic-db", "via", "ironic-url", "os-cloud", "os-cacert", "insecure", "api-timeout"],
] as const satisfies readonly (keyof typeof SHARED)[];

/** Where Nova's flavors are too. */
export const NOVA_DATABASES = ["nova-db", "nova-api-db"] as const;

/** What becomes of Nova's rows. */
export const NOVA_ROWS = [
  ...["compute-host", "flavor-images", "deploy-kernel", "deploy-ramdisk", "flavor"],
] as const satisfies readonly (keyof typeof SHARED)[];

/** For commands that change Nova's rows. */
export const WATCH = ["watch", "allow-running-compute", "allow-queued-requests"] as const;

/** Options that several commands have, in the order they are named. */
export function common(...names: readonly (keyof typeof SHARED)[]): OptionTable {
  return Object.fromEntries(names.map((name) => [name, SHARED[name]]));
}

/** One of them that means something of its own here. */
export function meaning(name: keyof typeof SHARED, describe: string): OptionTable {
  return { [name]: { ...SHARED[name], describe } };
}

/** One of them that this command does not do without. */
export function needed(name: keyof typeof SHARED): OptionTable {
  return { [name]: { ...SHARED[name], demandOption: true } };
}

/** Machines by name. @param which what becomes of them: `Only this machine` */
export function nodeOption(which: string): OptionTable {
  return { node: words(`${which}: uuid or bm_nodes.id`) };
}
