import { EXIT_STATUS } from "../../../lib/exit-status.ts";
import { type AdoptableOptions, listAdoptable } from "../../../manage/adoptable.ts";
import { listSpares, type SparesOptions } from "../../../switchover/switchover-plan.ts";
import { printView } from "../../print/out.ts";
import { adoptableView, sparesView } from "../../views/nodes.ts";
import { exitWith, type ListArgs, sinkOf } from "../shared.ts";
import { type SwitchoverArgs, switchoverCommand } from "./switchover.ts";

type SparesArgs = Parameters<typeof sparesCommand>[0] & { readonly spares: boolean };

export function nodeListCommand(
  args: Parameters<typeof adoptableCommand>[0] & SparesArgs,
): Promise<void> {
  return args.spares ? sparesCommand(args) : adoptableCommand(args);
}

/** The older command, which performs a switchover or lists spares. */
export function nodeSwitchoverCommand(
  args: Omit<SwitchoverArgs, "run" | "machine"> &
    SparesArgs & { readonly machine?: string; readonly run?: string },
): Promise<void> {
  if (args.spares) return sparesCommand(args);
  const { machine = "", run = "" } = args;
  return switchoverCommand({ ...args, machine, run });
}

async function sparesCommand(
  args: ListArgs & SparesOptions & { readonly all: boolean },
): Promise<void> {
  const short = await listSpares(args, sinkOf(args), (classes) =>
    printView(sparesView(classes, args.all), args),
  );
  if (short) exitWith(EXIT_STATUS.differs.status);
}

export function adoptableCommand(args: ListArgs & AdoptableOptions): Promise<void> {
  return listAdoptable(args, sinkOf(args), (rows) =>
    printView(adoptableView(rows, args.all), args),
  );
}
