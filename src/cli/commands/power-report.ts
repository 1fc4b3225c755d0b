import { EXIT_STATUS } from "../../model/exit.ts";
import type { PowerReading } from "../../model/power.ts";
import type { FormatOptions } from "../../report/format.ts";
import { powerView, summary } from "../../report/power.ts";
import { groups } from "../../report/power-groups.ts";
import { backendOf } from "../../stages/given.ts";
import { withEarlier } from "../../stages/given-file.ts";
import { nextCommand } from "../../stages/next.ts";
import type { askFleet } from "../../stages/power.ts";
import type { openSnapshot } from "../../stages/run.ts";
import { machinesOf } from "../../stages/selection.ts";
import { printView } from "../print/view.ts";
import { exitWith, say, type Voice } from "./shared.ts";

type Done = NonNullable<Awaited<ReturnType<typeof askFleet>>>;

/** Prints the machines in trouble, what they have in common, and what comes next. */
export async function reportPower(
  args: Voice & FormatOptions & { readonly run: string; readonly list: boolean },
  snapshot: Awaited<ReturnType<typeof openSnapshot>>,
  done: Done,
  /** The site document this run's questions follow, where this command was given none. */
  site: string | null,
): Promise<void> {
  const readings = [...new Set(done.readings.values())].toSorted(
    (left, right) => (left.bm_node_ids[0] ?? 0) - (right.bm_node_ids[0] ?? 0),
  );
  const troubled = readings.filter(
    ({ verdict, advice, warnings }) => verdict !== "ok" || advice.length + warnings.length > 0,
  );
  const shown = args.list ? readings : troubled;
  const machines = await machinesOf(snapshot, idsIn(shown));
  const short = args.format === "table" && (args.column ?? []).length === 0;
  await printView(powerView(shown, machines, short), args);
  for (const line of summary(done.counts.verdicts)) say(args, line);
  for (const line of groups(troubled, machines)) say(args, line);
  const known = await withEarlier({ path: args.run }, "plan", args);
  sayNext(args, known, snapshot.header.source.nova !== null, done, site);
}

function sayNext(
  args: Voice & { readonly run: string },
  /** Of earlier commands too. */
  known: object,
  novaRead: boolean,
  { counts, sha256, readings }: Done,
  site: string | null,
): void {
  const { machines, verdicts } = counts;
  const again = { ...args, only: undefined, node: undefined, host: undefined };
  const want = [...new Set(readings.values())]
    .filter(({ verdict, advice }) => verdict === "ok" && advice.length > 0)
    .reduce((count, { bm_node_ids }) => count + bm_node_ids.length, 0);
  const but = want === 0 ? "" : `; ${want} of them only with a setting told above`;
  const good = verdicts.ok ?? 0;
  say(args, `Power: ${good} of ${machines} machines answered as they should${but}.`);
  say(args, `Saved ${args.run}/power.jsonl (sha256 ${sha256.slice(0, 12)}).`);
  if (machines > good)
    say(
      args,
      `Next: ${nextCommand("power", again, { only: "failed" })} (or --only VERDICT, --host HOST), when their cause is fixed; or`,
    );
  const places = { ...backendOf(known), ...(novaRead && { novaDb: "DB" }) };
  say(args, `Next: ${nextCommand("plan", known, { site, ...places })}`);
  if (Object.keys(verdicts).some((verdict) => verdict !== "ok"))
    exitWith(EXIT_STATUS.partial.status);
}

function idsIn(readings: readonly PowerReading[]): ReadonlySet<number> {
  return new Set(readings.flatMap(({ bm_node_ids }) => bm_node_ids));
}
