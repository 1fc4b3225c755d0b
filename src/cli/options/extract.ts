import { releaseNames } from "../../edge/disk/load-tables.ts";
import type { ExtractAsked } from "../../stages/extract.ts";
import type { Voice } from "../commands/shared.ts";
import type { Declared } from "./declared.ts";
import { keyOption, runOption } from "./shared.ts";

export interface ExtractArgs extends Voice, ExtractAsked {}

export const extractOptions: Declared = {
  command: "extract",
  describe: "Read nova_bm, nova and nova.conf into a run's snapshot; writes to no database",
  builder: (yargs) =>
    yargs
      .options({
        ...runOption,
        "nova-bm-db": {
          type: "string",
          demandOption: true,
          requiresArg: true,
          describe: "nova_bm: URL without password, file:PATH, env:NAME or conf:PATH",
        },
        "nova-db": {
          type: "string",
          requiresArg: true,
          describe: "Nova's database, given the same way",
        },
        "nova-conf": {
          type: "string",
          array: true,
          nargs: 1,
          describe: "[HOST=]FILE: nova.conf of a compute host; repeat it for each",
        },
        "tftp-root": {
          type: "string",
          array: true,
          nargs: 1,
          describe: "[HOST=]DIR: TFTP tree of a compute host, or a copy; repeat it for each",
        },
        ...keyOption,
      })
      .epilogue(`Ironic releases \`plan\` can load into: ${releaseNames().join(", ")}`)
      .example(
        "$0 extract --run m1 --nova-bm-db conf:/etc/nova/nova.conf --nova-db file:/root/nova.url --nova-conf /etc/nova/nova.conf",
        "",
      ),
};
