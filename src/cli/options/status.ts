import type { FormatOptions } from "../../report/format.ts";
import type { Places } from "../../stages/allocations.ts";
import type { Voice } from "../commands/shared.ts";
import type { Declared } from "./declared.ts";
import { formatOptions } from "./format.ts";
import { novaOption } from "./nova.ts";
import { runOption } from "./shared.ts";

export interface StatusArgs extends Voice, FormatOptions, Places {
  readonly run: string;
}

export const statusOptions: Declared = {
  command: "status",
  describe:
    "Say what is true of a run and which command comes next; asks no database that is not given",
  builder: (yargs) =>
    yargs
      .options({
        ...runOption,
        "nova-db": { ...novaOption["nova-db"], describe: "With --placement-db: nova's database" },
        "placement-db": {
          type: "string",
          requiresArg: true,
          describe: "With --nova-db: Placement's database; tells instances without an allocation",
        },
        ...formatOptions,
      })
      .example("$0 status --run m1", ""),
};
