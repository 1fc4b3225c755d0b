import { type AdoptableOptions, listAdoptable } from "../../../manage/adoptable.ts";
import { printView } from "../../print/out.ts";
import { adoptableView } from "../../views/nodes.ts";
import { type ListArgs, sinkOf } from "../shared.ts";

export function adoptableCommand(args: ListArgs & AdoptableOptions): Promise<void> {
  return listAdoptable(args, sinkOf(args), (rows) =>
    printView(adoptableView(rows, args.all), args),
  );
}
