import { EXIT_STATUS } from "../../../lib/exit-status.ts";
import { type Json, objectOf } from "../../../lib/json.ts";
import type { FormatOptions } from "../../../lib/table/format.ts";
import { type Columns, type View, viewOf } from "../../../lib/table/table.ts";
import type { SpareClass } from "../../../model/switchover.ts";
import { nodeName } from "../../../switchover/rules/spares.ts";
import { listSpares, type SparesWords } from "../../../switchover/spares.ts";
import { printView } from "../../print/out.ts";
import { exitWith, sinkOf, type Voice } from "../shared.ts";

export async function sparesCommand(
  args: Voice & FormatOptions & SparesWords & { readonly all: boolean },
): Promise<void> {
  const short = await listSpares(args, sinkOf(args), (classes) =>
    printView(sparesView(classes, args.all), args),
  );
  if (short) exitWith(EXIT_STATUS.differs.status);
}

const SPARES: Columns<SpareClass> = {
  "Resource Class": ({ example }) => example.told.resource_class ?? null,
  Driver: ({ example }) => example.told.driver ?? null,
  CPUs: propertyOf("cpus"),
  "Memory MB": propertyOf("memory_mb"),
  Machines: ({ machines }) => machines,
  Example: ({ example }) => nodeName(example),
  Spares: ({ candidates }) => candidates.length,
  Candidates: ({ candidates }) => candidates.map(nodeName).join(", "),
};

/** Machines that boot from volumes, grouped by their hardware, with the spares of each group; `all` lists missing properties as well. */
function sparesView(classes: readonly SpareClass[], all: boolean): View {
  if (!all) return viewOf(SPARES, classes);
  const whole: Columns<SpareClass> = {
    ...SPARES,
    "Why not": ({ nearest }) =>
      nearest === null ? "" : `${nodeName(nearest.spare)}: ${nearest.why}`,
  };
  return viewOf(whole, classes);
}

function propertyOf(name: string): (row: SpareClass) => Json {
  return ({ example: { told } }) => objectOf(told.properties)[name] ?? null;
}
