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

export async function showCommand(args: ShowArgs): Promise<void> {
  const { file, diff, allRows } = args;
  const shown = await openArtifact(file, args.nova);
  if (diff !== undefined) {
    if (shown.kind !== "machines")
      throw new MigrationError(
        "N2I-E100",
        `--diff requires the machines of a plan, not ${WHAT[shown.kind]}`,
      );
    return printDiff(shown, diff, allRows);
  }
  if (args.skipped && shown.kind !== "machines" && shown.kind !== "moves")
    throw new MigrationError("N2I-E100", `--skipped requires a plan, not ${WHAT[shown.kind]}`);
  const how = { ...args, every: EVERY.show(args), ...(args.skipped && { match: SKIPPED }) };
  const at = { ...how, run: shown.run };
  switch (shown.kind) {
    case "snapshot":
      return printMachines(snapshotView(shown.lines()), at);
    case "machines":
      return printMachines(machinesView(shown.lines()), at);
    case "moves":
      return printView(movesView(each(shown.lines())), how);
    case "power":
      return printView(powerView(each(shown.readings()), shown.machines), how);
    case "nova":
      return printView(novaStepsView(shown.steps(), shown.findings()), how);
    case "journal":
      return printView(journalView(shown.entries), how);
    case "log":
      return printView(logView(shown.facts()), how);
    case "window":
      return printView(windowView(shown.entries), how);
  }
}

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
