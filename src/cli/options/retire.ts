import { GRACE } from "../../model/archive.ts";
import type { FormatOptions } from "../../report/format.ts";
import type { RetireWords } from "../../stages/retire.ts";
import type { Voice } from "../commands/shared.ts";
import { type Declared, flag, number, word } from "./declared.ts";
import { listOptions } from "./format.ts";
import { common, meaning, NOVA_DATABASES, TARGET } from "./shared.ts";

export interface RetireArgs extends Voice, FormatOptions, Omit<RetireWords, "novaBmDb" | "grace"> {
  readonly novaBmDb?: string;
  /** Absent: as usual. */
  readonly grace?: number;
  readonly drop: boolean;
  readonly yesDrop?: string;
  readonly restore?: string;
  readonly plan: boolean;
  readonly yes: boolean;
}

export const retireOptions: Declared = {
  command: "retire",
  describe: "After the window: archive nova_bm, prove the archive, and later drop its tables",
  options: {
    ...common("run"),
    "nova-bm-db": word("nova_bm, given as to extract; to archive it a user who reads will do"),
    ...common(...TARGET),
    ...meaning("nova-db", "Nova's database: also look that no nova-compute is of nova-baremetal"),
    ...common(...NOVA_DATABASES.slice(1)),
    grace: number(`Of the archive: days until its tables may be dropped (${GRACE} without it)`, {
      requiresArg: true,
    }),
    drop: flag("After that time: drop nova-baremetal's tables, once they equal the archive still"),
    "yes-drop": word("With --drop: the database's name, where there is no terminal to type it"),
    restore: word("Instead: restore the archive into this empty database"),
    plan: flag("Only show what is missing; writes nothing"),
    ...common("yes", "key-file"),
    ...listOptions,
  },
  examples: [
    "$0 retire --run m1 --nova-bm-db conf:/etc/nova/nova.conf --ironic-db conf:/etc/ironic/ironic.conf --plan",
    "$0 retire --run m1 --nova-bm-db file:/root/owner.url --drop",
    "$0 retire --run m1 --restore file:/root/empty.url",
  ],
};
