import type { ExtractAsked } from "../../migrate/extract/extract.ts";
import { releaseNames } from "../../run/files/load-tables.ts";
import type { Voice } from "../commands/shared.ts";
import { FAILED } from "../views/power-groups.ts";
import { type Declared, flag, number, perHost, word, words } from "./declared.ts";
import { listOptions, matchOption } from "./format.ts";
import { common, meaning, nodeOption } from "./shared.ts";

export interface ExtractArgs extends Voice, ExtractAsked {
  readonly match?: readonly string[];
}

export const extractOptions: Declared = {
  command: "extract",
  describe: "Read nova_bm, nova and nova.conf into a run's snapshot; writes to no database",
  options: {
    ...common("run", "nova-bm-db"),
    "nova-db": word("Nova's database, given the same way"),
    "nova-conf": words(
      "[HOST=]FILE: nova.conf of a compute host; repeat it for each",
      perHost("FILE"),
    ),
    "tftp-root": words(
      "[HOST=]DIR: TFTP tree of a compute host, or a copy; repeat it for each",
      perHost("DIR"),
    ),
    ...common("key-file"),
    ...matchOption,
  },
  epilogue: `Ironic releases \`plan\` can load into: ${releaseNames().join(", ")}`,
  examples: [
    "$0 extract --run m1 --nova-bm-db conf:/etc/nova/nova.conf --nova-db file:/root/nova.url --nova-conf /etc/nova/nova.conf",
  ],
};

/** How a fleet is asked unless the operator says otherwise. */
const PACE = { inFlight: 256, rate: 400, deadline: 60 } as const;

export const powerOptions: Declared = {
  command: "power",
  describe: "Ask every machine's BMC for its power state, as a conductor would; switches nothing",
  options: {
    ...common("run"),
    only: words("Ask again only those that failed, or those with this verdict", {
      ...{ choices: ["failed", ...FAILED], defaultDescription: "all machines" },
    }),
    ...nodeOption("Ask this machine again"),
    host: words("Ask only the machines of this nova-compute (service_host)"),
    site: word("Your decisions, as plan gets them; kept for the next power of this run"),
    ...meaning("ironic-release", "Whose conductors will ask; by default the plan's, or juno"),
    ...common("conductor-ipmitool"),
    "in-flight": number("BMCs asked at the same time", {
      default: PACE.inFlight,
      least: 1,
      most: 512,
    }),
    rate: number("Sessions begun a second", { default: PACE.rate, above: 0 }),
    deadline: number(
      "Seconds for one BMC, both times it is asked; for a host of virtual machines, too",
      { default: PACE.deadline, above: 0 },
    ),
    list: flag("List every machine, not only those in trouble"),
    ...common("key-file"),
    ...listOptions,
  },
  examples: [
    "$0 power --run m1",
    "$0 power --run m1 --only failed -f csv",
    "$0 power --run m1 --only wrong-password --host compute-1",
  ],
};
