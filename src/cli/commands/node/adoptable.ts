import type { FormatOptions } from "../../../lib/table/format.ts";
import { type AdoptableWords, listAdoptable } from "../../../manage/adoptable.ts";
import { printView } from "../../print/out.ts";
import { adoptableView } from "../../views/nodes.ts";
import { sinkOf, type Voice } from "../shared.ts";

export function adoptableCommand(args: Voice & FormatOptions & AdoptableWords): Promise<void> {
  return listAdoptable(args, sinkOf(args), (rows) =>
    printView(adoptableView(rows, args.all), args),
  );
}
