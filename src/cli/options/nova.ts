import { grouped } from "./declared.ts";

/** nova's database, where a command changes or compares its rows. */
export const novaOption = grouped("Nova:", {
  "nova-db": {
    type: "string",
    requiresArg: true,
    describe: "Nova's database: URL without password, file:PATH, env:NAME or conf:PATH",
  },
} as const);

/** Where flavors are since Newton. */
export const novaApiOption = grouped("Nova:", {
  "nova-api-db": {
    type: "string",
    requiresArg: true,
    describe: "nova_api's database, given the same way: it has the flavors since Newton",
  },
  "flavors-via": {
    type: "string",
    requiresArg: true,
    choices: ["db", "rest"],
    describe: "With --nova-db: flavors in the database, or through Nova's API (OS_*, --os-cloud)",
  },
} as const);

const WANT_NOVA = "With --nova-db";

/** Options of the commands that change Nova's rows. */
export const watchOptions = grouped("Nova:", {
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
} as const);

/** The operator's word that no nova-compute runs, where nobody looks. */
export function leaveNovaOption(describe: string) {
  return grouped("Nova:", { "leave-nova": { type: "boolean", default: false, describe } } as const);
}

export interface WatchArgs {
  readonly watch: number;
  readonly allowRunningCompute: boolean;
  readonly allowQueuedRequests: boolean;
}

/** Options of plan that say what becomes of Nova's rows. */
export const novaPlanOptions = grouped("Nova:", {
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
} as const);

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
