import { adoptableView } from "../../report/adoptable.ts";
import type { FormatOptions } from "../../report/format.ts";
import { type AdoptableWords, listAdoptable } from "../../stages/adoptable.ts";
import { printView } from "../print/out.ts";
import { sinkOf, type Voice } from "./shared.ts";

export function adoptableCommand(args: Voice & FormatOptions & AdoptableWords): Promise<void> {
  return listAdoptable(args, sinkOf(args), (rows) =>
    printView(adoptableView(rows, args.all), args),
  );
}
