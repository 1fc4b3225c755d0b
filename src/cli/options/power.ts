import { releaseNames } from "../../edge/disk/load-tables.ts";
import type { FormatOptions } from "../../report/format.ts";
import { FAILED } from "../../report/verdicts.ts";
import type { PowerAsked } from "../../stages/power.ts";
import type { Client } from "../../stages/probe.ts";
import type { Voice } from "../commands/shared.ts";
import type { Declared } from "./declared.ts";
import { formatOptions } from "./format.ts";
import { ipmitoolOption, keyOption, nodeOption, runOption } from "./shared.ts";

const CLIENTS: readonly Client[] = ["native", "ipmitool", "both"];

/** How a fleet is asked unless the operator says otherwise; our own client's defaults. */
const PACE = { inFlight: 256, rate: 400, deadline: 60 } as const;

export interface PowerArgs extends Voice, FormatOptions, PowerAsked {}

export const powerOptions: Declared = {
  command: "power",
  describe: "Ask every machine's BMC for its power state, as a conductor would; switches nothing",
  builder: (yargs) =>
    yargs
      .options({
        ...runOption,
        "ipmi-client": {
          choices: CLIENTS,
          default: "native" as Client,
          describe: "Who asks: our own client, ipmitool as the conductor runs it, or both",
        },
        only: {
          type: "string",
          array: true,
          nargs: 1,
          choices: ["failed", ...FAILED],
          defaultDescription: "all machines",
          describe: "Ask again only those that failed, or those with this verdict",
        },
        ...nodeOption("Ask this machine again"),
        host: {
          type: "string",
          array: true,
          nargs: 1,
          describe: "Ask only the machines of this nova-compute (service_host)",
        },
        site: {
          type: "string",
          requiresArg: true,
          describe: "Your decisions, as plan gets them; kept for the next power of this run",
        },
        "ironic-release": {
          type: "string",
          requiresArg: true,
          choices: releaseNames(),
          describe: "Whose conductors will ask; by default the plan's, or juno",
        },
        ...ipmitoolOption,
        "in-flight": {
          type: "number",
          default: PACE.inFlight,
          describe: "BMCs asked at the same time, at most 512",
        },
        rate: {
          type: "number",
          default: PACE.rate,
          describe: "Sessions begun a second",
        },
        deadline: {
          type: "number",
          default: PACE.deadline,
          describe:
            "Seconds for one BMC, both times it is asked; for a host of virtual machines, too",
        },
        list: {
          type: "boolean",
          default: false,
          describe: "List every machine, not only those in trouble",
        },
        ...keyOption,
        ...formatOptions,
      })
      .example("$0 power --run m1", "")
      .example("$0 power --run m1 --only failed -f csv", "")
      .example("$0 power --run m1 --only wrong-password --host compute-1", ""),
};
