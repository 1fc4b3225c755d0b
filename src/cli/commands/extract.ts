import { counted, listed, NAMES } from "../../lib/text.ts";
import { type ExtractRequest, extract } from "../../migrate/extract/extract.ts";
import { renderFindingCounts, renderUnknown } from "../../migrate/plan/rules/summary.ts";
import { openSnapshot, SNAPSHOT } from "../../run/run.ts";
import { AFTER } from "../../window/runner/after.ts";
import { snapshotView } from "../views/show.ts";
import { printLines, printMachines, printMessage, sinkOf, type Voice } from "./shared.ts";

interface ExtractArgs extends Voice, ExtractRequest {
  readonly match?: readonly string[];
}

export async function extractCommand(args: ExtractArgs): Promise<void> {
  const made = await extract(args, sinkOf({ ...args, format: "table" }));
  const { match } = args;
  if (match !== undefined) {
    const { lines } = await openSnapshot(`${made.path}/${SNAPSHOT}`);
    await printMachines(snapshotView(lines()), { format: "table", run: args.run, match });
  }
  const { machines, deleted, interfaces, orphans, instances } = made.counts;
  printLines(
    [
      `Snapshot: ${counted(machines, "machine")} (${deleted} soft-deleted), ${counted(interfaces, "interface")} (and ${orphans} without a node), ${instances} with an instance.`,
      ...renderUnknown(made.header.unknown_columns, made.unknown),
      ...renderFindingCounts(Object.fromEntries(made.findings)),
    ].join("\n"),
  );
  const { withoutConf } = made;
  if (withoutConf.size > 0) {
    const hosts = listed([...withoutConf.keys()].toSorted(), NAMES);
    const unknown = [...withoutConf.values()].reduce((sum, count) => sum + count, 0);
    printMessage(
      args,
      `Warning: no nova.conf was specified for ${hosts}, so the power manager of ${counted(unknown, "machine")} is unknown.`,
    );
  }
  printMessage(
    args,
    `Saved ${made.path}/snapshot.jsonl (sha256 ${made.sha256.slice(0, 12)}).\n${AFTER.extract(args, [...withoutConf.keys()])}`,
  );
}
