import type { ExtractAsked } from "../../migrate/extract/extract.ts";
import { releaseNames } from "../../run/files/load-tables.ts";
import type { Voice } from "../commands/shared.ts";
import { type Declared, word, words } from "./declared.ts";
import { matchOption } from "./format.ts";
import { common } from "./shared.ts";

export interface ExtractArgs extends Voice, ExtractAsked {
  readonly match?: readonly string[];
}

export const extractOptions: Declared = {
  command: "extract",
  describe: "Read nova_bm, nova and nova.conf into a run's snapshot; writes to no database",
  options: {
    ...common("run", "nova-bm-db"),
    "nova-db": word("Nova's database, given the same way"),
    "nova-conf": words("[HOST=]FILE: nova.conf of a compute host; repeat it for each"),
    "tftp-root": words("[HOST=]DIR: TFTP tree of a compute host, or a copy; repeat it for each"),
    ...common("key-file"),
    ...matchOption,
  },
  epilogue: `Ironic releases \`plan\` can load into: ${releaseNames().join(", ")}`,
  examples: [
    "$0 extract --run m1 --nova-bm-db conf:/etc/nova/nova.conf --nova-db file:/root/nova.url --nova-conf /etc/nova/nova.conf",
  ],
};
