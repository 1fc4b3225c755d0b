import { renderFindingCounts, renderUnknown } from "../../core/render/summary.ts";
import { snapshotView } from "../../report/show.ts";
import { extract } from "../../stages/extract.ts";
import { AFTER } from "../../stages/pipeline.ts";
import { openSnapshot, SNAPSHOT } from "../../stages/run.ts";
import type { ExtractArgs } from "../options/extract.ts";
import { matchedBy, printLines, printMachines, say, sinkOf } from "./shared.ts";

export async function extractCommand(args: ExtractArgs): Promise<void> {
  const made = await extract(args, sinkOf({ ...args, format: "table" }));
  const { match } = args;
  if (match !== undefined) {
    const { lines } = await openSnapshot(`${made.path}/${SNAPSHOT}`);
    await printMachines(snapshotView(lines()), matchedBy(args.run, match));
  }
  const { machines, deleted, interfaces, orphans, instances } = made.counts;
  printLines(
    [
      `Snapshot: ${machines} machines (${deleted} soft-deleted), ${interfaces} interfaces (and ${orphans} without a node), ${instances} with an instance.`,
      ...renderUnknown(made.header.unknown_columns, made.unknown),
      ...renderFindingCounts(Object.fromEntries(made.findings)),
    ].join("\n"),
  );
  const { confless } = made;
  if (confless.size > 0) say(args, conflessText(confless));
  say(
    args,
    `Saved ${made.path}/snapshot.jsonl (sha256 ${made.sha256.slice(0, 12)}).\n${AFTER.extract(args, made.known, [...confless.keys()])}`,
  );
}

/** Hosts that are named; more are counted. */
const NAMED = 3;

function conflessText(confless: ReadonlyMap<string, number>): string {
  const hosts = [...confless.keys()].toSorted();
  const machines = [...confless.values()].reduce((sum, count) => sum + count, 0);
  const more = hosts.length > NAMED ? ` and ${hosts.length - NAMED} more` : "";
  const of = machines === 1 ? "1 machine" : `${machines} machines`;
  return `Warning: no nova.conf is given for ${hosts.slice(0, NAMED).join(", ")}${more}, so the power manager of ${of} is unknown.`;
}
