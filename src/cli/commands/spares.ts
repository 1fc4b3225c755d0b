import { EXIT_STATUS } from "../../model/exit-status.ts";
import type { FormatOptions } from "../../report/format.ts";
import { sparesView } from "../../report/spares.ts";
import { listSpares, type SparesWords } from "../../stages/spares.ts";
import { printView } from "../print/out.ts";
import { exitWith, sinkOf, type Voice } from "./shared.ts";

export async function sparesCommand(
  args: Voice & FormatOptions & SparesWords & { readonly all: boolean },
): Promise<void> {
  const short = await listSpares(args, sinkOf(args), (classes) =>
    printView(sparesView(classes, args.all), args),
  );
  if (short) exitWith(EXIT_STATUS.differs.status);
}
