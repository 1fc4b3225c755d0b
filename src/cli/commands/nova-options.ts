import type { Options } from "yargs";
import type { Images } from "../../core/flavors/flavors.ts";
import { MigrationError } from "../../model/error.ts";
import { BY_NAME } from "../../stages/images.ts";
import type { NovaAsked } from "../../stages/nova-plan.ts";
import type { Watching } from "../../stages/nova-watch.ts";

/** nova's database, where a command changes or compares its rows. */
export const novaOption = {
  "nova-db": {
    type: "string",
    requiresArg: true,
    describe: "nova's database, likewise: its own rows too",
  },
} as const satisfies Record<string, Options>;

/** Where flavors are since Newton. */
export const novaApiOption = {
  "nova-api-db": {
    type: "string",
    requiresArg: true,
    describe: "nova_api's database, likewise: flavors of Newton and later",
  },
  "flavors-via": {
    type: "string",
    requiresArg: true,
    choices: ["db", "rest"],
    describe: "With --nova-db: flavors in the database, or through Nova's API (OS_*, --os-cloud)",
  },
} as const satisfies Record<string, Options>;

const WANT_NOVA = "with --nova-db";

/** Options of the commands that change Nova's rows. */
export const watchOptions = {
  watch: {
    type: "number",
    default: 20,
    requiresArg: true,
    describe: `${WANT_NOVA}: seconds that nova-compute's heartbeats are watched standing still`,
  },
  "allow-running-compute": {
    type: "boolean",
    default: false,
    describe: `${WANT_NOVA}: go on though a nova-compute still reports`,
  },
  "allow-queued-requests": {
    type: "boolean",
    default: false,
    describe: `${WANT_NOVA}: go on though requests wait in a nova-compute's message queue`,
  },
} as const satisfies Record<string, Options>;

/** The operator's word that no nova-compute runs, where nobody looks. */
export function leaveNovaOption(describe: string) {
  return { "leave-nova": { type: "boolean", default: false, describe } } as const;
}

export interface WatchArgs {
  readonly watch: number;
  readonly allowRunningCompute: boolean;
  readonly allowQueuedRequests: boolean;
}

/** Seconds a look at heartbeats may take. */
const LONGEST = 3600;

/**
 * How nova-compute is watched.
 *
 * @throws MigrationError N2I-E100
 */
export function watchingOf(
  { watch, allowRunningCompute, allowQueuedRequests: queued }: WatchArgs,
  tell: (text: string) => void,
): Watching {
  if (!(watch >= 0 && watch <= LONGEST)) throw usage(`--watch wants 0 to ${LONGEST} seconds`);
  return { seconds: watch, allowed: allowRunningCompute, queued, tell };
}

/** Options of plan that say what becomes of Nova's rows. */
export const novaPlanOptions = {
  ...novaOption,
  ...novaApiOption,
  "compute-host": {
    type: "string",
    array: true,
    nargs: 1,
    describe: `${WANT_NOVA}: [HOST=|group:GROUP=|shard:SHARD=]NAME, the compute host that takes instances over`,
  },
  "flavor-images": {
    type: "string",
    requiresArg: true,
    choices: ["keep", "point", "delete"],
    describe: `${WANT_NOVA}: deploy images of flavors; point them to the new ones when these are given`,
  },
  "deploy-kernel": {
    type: "string",
    requiresArg: true,
    describe: "Glance id of the new deploy kernel, or name:NAME to look it up",
  },
  "deploy-ramdisk": { type: "string", requiresArg: true, describe: "and of its ramdisk" },
  flavor: {
    type: "string",
    array: true,
    nargs: 1,
    describe: "Change this flavor too, though it names one image of two: name or flavorid",
  },
} as const satisfies Record<string, Options>;

export interface NovaArgs {
  readonly novaDb?: string;
  readonly novaApiDb?: string;
  readonly flavorsVia?: "db" | "rest";
  readonly computeHost?: readonly string[];
  readonly flavorImages?: string;
  readonly deployKernel?: string;
  readonly deployRamdisk?: string;
  readonly flavor?: readonly string[];
}

/**
 * What the operator wants of Nova's rows; null when nova is not given.
 *
 * @throws MigrationError N2I-E100
 */
export function novaAsked(args: NovaArgs): NovaAsked | null {
  const { novaDb, computeHost, flavorImages, deployKernel, deployRamdisk, flavor } = args;
  const { novaApiDb, flavorsVia } = args;
  const places = { novaApiDb, flavorsVia };
  const wanted = { ...places, computeHost, flavorImages, deployKernel, deployRamdisk, flavor };
  const alone = Object.entries(wanted).find(([, value]) => value !== undefined);
  if (novaDb === undefined) {
    if (alone === undefined) return null;
    throw usage(
      `--${alone[0].replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} wants --nova-db`,
    );
  }
  return {
    computeHosts: computeHost ?? [],
    flavors: { images: imagesOf(args), named: new Set(flavor ?? []) },
  };
}

function imagesOf({ flavorImages, deployKernel, deployRamdisk }: NovaArgs): Images {
  const given = [deployKernel, deployRamdisk].filter((id) => id !== undefined);
  for (const id of given)
    if (!(id.startsWith(BY_NAME) ? id.length > BY_NAME.length : /^[\w.-]{1,255}$/.test(id)))
      throw usage("--deploy-kernel and --deploy-ramdisk want image ids, or name:NAME");
  const wanted = flavorImages ?? (given.length > 0 ? "point" : "keep");
  if (wanted !== "point") {
    if (given.length > 0) throw usage(`--flavor-images ${wanted} takes no images`);
    return { do: wanted === "delete" ? "delete" : "keep" };
  }
  if (deployKernel === undefined || deployRamdisk === undefined)
    throw usage("--deploy-kernel and --deploy-ramdisk are wanted together");
  return { do: "point", kernel: deployKernel, ramdisk: deployRamdisk };
}

function usage(what: string): MigrationError {
  return new MigrationError("N2I-E100", what);
}
