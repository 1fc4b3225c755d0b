import { renderMachine } from "../../core/render/diff.ts";
import { MigrationError } from "../../model/error.ts";
import { machinesView, novaStepsView, snapshotView } from "../../report/show.ts";
import { openShown, type Shown } from "../../stages/shown.ts";
import type { ShowArgs } from "../options/show.ts";
import { printView } from "../print/out.ts";
import { print } from "./shared.ts";

export async function showCommand(args: ShowArgs): Promise<void> {
  const { file, diff, all } = args;
  const shown = await openShown(file, args.nova);
  if (diff !== undefined) {
    if (shown.kind !== "machines")
      throw new MigrationError(
        "N2I-E100",
        `--diff needs the machines of a plan, not ${WHAT[shown.kind]}`,
      );
    return printDiff(shown, diff, all);
  }
  switch (shown.kind) {
    case "snapshot":
      return printView(snapshotView(shown.lines()), args);
    case "machines":
      return printView(machinesView(shown.lines()), args);
    case "nova":
      return printView(novaStepsView(shown.steps(), shown.findings()), args);
  }
}

const WHAT = { snapshot: "a snapshot", nova: "rows of Nova" } as const;

/**
 * Prints the diff of the machine named by uuid or bm_nodes.id, or of every machine for "".
 *
 * @throws MigrationError N2I-E306 when the plan has no such machine
 */
export async function printDiff(
  { origins, lines }: Pick<Extract<Shown, { readonly kind: "machines" }>, "origins" | "lines">,
  node: string,
  all: boolean,
): Promise<void> {
  const wanted = node.toLowerCase();
  let found = false;
  for await (const batch of lines())
    for (const machine of batch) {
      if (
        wanted !== "" &&
        machine.uuid?.toLowerCase() !== wanted &&
        String(machine.bm_node_id) !== wanted
      )
        continue;
      found = true;
      print(renderMachine(machine, origins, all));
    }
  if (!found && wanted !== "")
    throw new MigrationError("N2I-E306", `${JSON.stringify(node)} is not in the plan`);
}
