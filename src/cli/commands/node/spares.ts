import { EXIT_STATUS } from "../../../lib/exit-status.ts";
import { listSpares, type SparesOptions } from "../../../switchover/spares.ts";
import { printView } from "../../print/out.ts";
import { sparesView } from "../../views/nodes.ts";
import { exitWith, type ListArgs, sinkOf } from "../shared.ts";

export async function sparesCommand(
  args: ListArgs & SparesOptions & { readonly all: boolean },
): Promise<void> {
  const short = await listSpares(args, sinkOf(args), (classes) =>
    printView(sparesView(classes, args.all), args),
  );
  if (short) exitWith(EXIT_STATUS.differs.status);
}
