import type { Options } from "yargs";
import { grouped } from "./declared.ts";

/** Options every command with a run has. */
export const runOption = {
  run: { type: "string", demandOption: true, describe: "The run's folder", requiresArg: true },
} as const satisfies Record<string, Options>;

/** Machines by name. @param which what becomes of them: `Only this machine` */
export function nodeOption(which: string) {
  const describe = `${which}: uuid or bm_nodes.id`;
  return { node: { type: "string", array: true, nargs: 1, describe } } as const;
}

export const keyOption = {
  "key-file": {
    type: "string",
    requiresArg: true,
    describe: "Key that seals the run's secrets; RUN/secret.key without it",
  },
} as const satisfies Record<string, Options>;

export const ironicOption = grouped("Ironic:", {
  "ironic-db": {
    type: "string",
    demandOption: true,
    requiresArg: true,
    describe: "Ironic's database: URL without password, file:PATH, env:NAME or conf:PATH",
  },
} as const);

/** Where Ironic is, for commands that take both backends. */
export const targetOptions = grouped("Ironic:", {
  "ironic-db": { ...ironicOption["ironic-db"], demandOption: false },
  via: {
    choices: ["db", "rest"] as const,
    requiresArg: true,
    describe: "Backend: rows into the database, or adoption over REST",
  },
  "ironic-url": {
    type: "string",
    requiresArg: true,
    describe: "REST: URL of the bare metal service; OS_* say how to log in",
  },
  "os-cloud": {
    type: "string",
    requiresArg: true,
    describe: "REST: cloud of clouds.yaml and secure.yaml; OS_CLOUD without it",
  },
  "os-cacert": { type: "string", requiresArg: true, describe: "REST: file of authorities (PEM)" },
  insecure: { type: "boolean", describe: "REST: do not check certificates" },
  "api-timeout": {
    type: "number",
    requiresArg: true,
    describe: "REST: seconds a call may take (60)",
  },
} as const);

/** How many machines are adopted or deleted at once. */
export const inFlightOption = grouped("Ironic:", {
  "in-flight": {
    type: "number",
    requiresArg: true,
    describe: "REST: machines under way at once (8)",
  },
} as const);

export const lockWaitOption = grouped("Ironic:", {
  "lock-wait": {
    type: "number",
    default: 60,
    requiresArg: true,
    describe: "Seconds to wait for conductors that have reserved machines",
  },
} as const);

export const yesOption = {
  yes: {
    alias: "y",
    type: "boolean",
    default: false,
    describe: "Do not ask; needed without a terminal",
  },
} as const satisfies Record<string, Options>;

/** For `power` and `plan` alike. */
export const ipmitoolOption = {
  "conductor-ipmitool": {
    type: "string",
    requiresArg: true,
    describe:
      "Version of ipmitool on the conductors, 1.8.19; by default what the release came with",
  },
} as const;

/** For commands that act on machines which Nova manages once a run is finished. */
export const afterFinishOption = {
  "after-finish": {
    type: "boolean",
    default: false,
    describe: "Do it though finish ended this run",
  },
} as const satisfies Record<string, Options>;
