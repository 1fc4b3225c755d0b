import { EXIT_STATUS } from "../../../lib/exit-status.ts";
import type { FormatOptions } from "../../../lib/table/format.ts";
import { listSpares, type SparesWords } from "../../../switchover/spares.ts";
import { printView } from "../../print/out.ts";
import { sparesView } from "../../views/nodes.ts";
import { exitWith, sinkOf, type Voice } from "../shared.ts";

export async function sparesCommand(
  args: Voice & FormatOptions & SparesWords & { readonly all: boolean },
): Promise<void> {
  const short = await listSpares(args, sinkOf(args), (classes) =>
    printView(sparesView(classes, args.all), args),
  );
  if (short) exitWith(EXIT_STATUS.differs.status);
}
