import { MigrationError } from "../../lib/error.ts";
import { renderMachine } from "../../migrate/plan/rules/diff.ts";
import { openArtifact, type ShowableArtifact } from "../../migrate/plan/show-artifact.ts";
import { printView } from "../print/out.ts";
import { EVERY } from "../views/every-row.ts";
import { movesView } from "../views/hosts.ts";
import { powerView } from "../views/power.ts";
import { journalView, logView, windowView } from "../views/records.ts";
import { each, machinesView, novaStepsView, snapshotView } from "../views/show.ts";
import { type ListArgs, print, printMachines } from "./shared.ts";

interface ShowArgs extends ListArgs {
  readonly file: string;
  readonly diff?: string;
  readonly allRows: boolean;
  readonly nova: boolean;
  readonly skipped: boolean;
}

export const commands = {
  async show(args: ShowArgs) {
    const { file, diff, allRows } = args;
    const artifact = await openArtifact(file, args.nova);
    if (diff !== undefined) {
      if (artifact.kind !== "machines")
        throw new MigrationError(
          "N2I-E100",
          `--diff requires the machines of a plan, not ${WHAT[artifact.kind]}`,
        );
      return printDiff(artifact, diff, allRows);
    }
    if (args.skipped && artifact.kind !== "machines" && artifact.kind !== "moves")
      throw new MigrationError("N2I-E100", `--skipped requires a plan, not ${WHAT[artifact.kind]}`);
    const how = { ...args, every: EVERY.show(args), ...(args.skipped && { match: SKIPPED }) };
    const at = { ...how, run: artifact.run };
    switch (artifact.kind) {
      case "snapshot":
        return printMachines(snapshotView(each(artifact.lines())), at);
      case "machines":
        return printMachines(machinesView(each(artifact.lines())), at);
      case "moves":
        return printView(movesView(each(artifact.lines())), how);
      case "power":
        return printView(powerView(each(artifact.readings()), artifact.machines), how);
      case "nova":
        return printView(novaStepsView(artifact.steps(), artifact.findings()), how);
      case "journal":
        return printView(journalView(artifact.entries), how);
      case "log":
        return printView(logView(artifact.facts()), how);
      case "window":
        return printView(windowView(artifact.entries), how);
    }
  },
};

const SKIPPED = ["blocked", "conflict", "skipped"].map((verdict) => `Verdict=${verdict}`);

const WHAT = {
  moves: "moves between compute hosts",
  ...{ snapshot: "a snapshot", nova: "rows of Nova", power: "BMC readings" },
  ...{ journal: "a journal", log: "a log", window: "a window's record" },
} as const;

/** @param node uuid or bm_nodes.id; "" for every machine @throws MigrationError N2I-E306 */
export async function printDiff(
  {
    origins,
    lines,
  }: Pick<Extract<ShowableArtifact, { readonly kind: "machines" }>, "origins" | "lines">,
  node: string,
  all: boolean,
): Promise<void> {
  const lowerNode = node.toLowerCase();
  let found = false;
  for await (const batch of lines())
    for (const machine of batch) {
      if (
        lowerNode !== "" &&
        machine.uuid?.toLowerCase() !== lowerNode &&
        String(machine.bm_node_id) !== lowerNode
      )
        continue;
      found = true;
      print(renderMachine(machine, origins, all));
    }
  if (!found && lowerNode !== "")
    throw new MigrationError("N2I-E306", `${JSON.stringify(node)} is not in the plan`);
}
