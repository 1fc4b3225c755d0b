import type { FormatOptions } from "../../lib/table/format.ts";
import type { Places } from "../../migrate/hosts/allocations.ts";
import type { Voice } from "../commands/shared.ts";
import { type Declared, word } from "./declared.ts";
import { formatOptions } from "./format.ts";
import { common, meaning } from "./shared.ts";

export interface StatusArgs extends Voice, FormatOptions, Places {
  readonly run: string;
}

export const statusOptions: Declared = {
  command: "status",
  describe:
    "Say what is true of a run and which command comes next; asks no database that is not given",
  options: {
    ...common("run"),
    ...meaning("nova-db", "With --placement-db: nova's database"),
    "placement-db": word(
      "With --nova-db: Placement's database; tells instances without an allocation",
    ),
    ...formatOptions,
  },
  examples: ["$0 status --run m1"],
};
