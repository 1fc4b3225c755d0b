import { counted, listed, NAMES } from "../../lib/text.ts";
import { renderFindingCounts, renderUnknown } from "../../migrate/plan/rules/summary.ts";
import { openSnapshot, SNAPSHOT } from "../../run/run.ts";
import { AFTER } from "../../window/runner/after.ts";
import { printView } from "../print/out.ts";
import { EVERY } from "../views/every-row.ts";
import { groups, powerView, summary } from "../views/power.ts";
import { each, snapshotView } from "../views/show.ts";
import { verifiedText } from "../views/verify.ts";
import {
  type ArgsOf,
  exitWith,
  printLines,
  printMachines,
  sinkOf,
  type WatchArgs,
  watchingOf,
} from "./shared.ts";

export const commands = {
  async extract(args: ArgsOf<typeof import("../../migrate/extract/extract.ts").extract>) {
    const sink = sinkOf(args);
    const { extract } = await import("../../migrate/extract/extract.ts");
    const made = await extract(args, sink);
    const { match } = args;
    if (match !== undefined) {
      const { lines } = await openSnapshot(`${made.path}/${SNAPSHOT}`);
      await printMachines(snapshotView(each(lines())), args);
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
    const unnamed = [...withoutConf.keys()];
    if (unnamed.length > 0) {
      const hosts = listed(unnamed.toSorted(), NAMES);
      const unknown = [...withoutConf.values()].reduce((sum, count) => sum + count, 0);
      sink.report(
        `Warning: no nova.conf was specified for ${hosts}, so the power manager of ${counted(unknown, "machine")} is unknown.`,
      );
    }
    sink.report(
      `Saved ${made.path}/snapshot.jsonl (sha256 ${made.sha256.slice(0, 12)}).\n${AFTER.extract(args, unnamed)}`,
    );
  },

  async power(args: ArgsOf<typeof import("../../migrate/power/power.ts").power>) {
    const sink = sinkOf(args);
    const { power } = await import("../../migrate/power/power.ts");
    const done = await power(args, sink);
    if (done === null) return sink.report(AFTER.stoppedPower(args));
    const { counts, machines, advised: altered, noConf } = done;
    const good = counts.verdicts.ok ?? 0;
    for (const line of summary(counts.verdicts)) sink.report(line);
    for (const line of groups(done.troubled, machines)) sink.report(line);
    await printView(powerView(done.listed, machines), { ...args, every: EVERY.power(args) });
    const but = altered === 0 ? "" : `; ${altered} of them only with a setting listed above`;
    sink.report(
      `Power: ${good} of ${counted(counts.machines, "machine")} answered as expected${but}.`,
    );
    sink.report(`Saved ${args.run}/power.jsonl (sha256 ${done.sha256.slice(0, 12)}).`);
    sink.report(AFTER.power(args, counts.machines > good, noConf));
    if (Object.keys(counts.verdicts).some((verdict) => verdict !== "ok")) exitWith("partial");
  },

  async apply(args: WatchArgs & ArgsOf<typeof import("../../migrate/apply/apply.ts").apply>) {
    const sink = sinkOf({ ...args, every: EVERY.verify(args) });
    const { apply } = await import("../../migrate/apply/apply.ts");
    const applied = await apply(args, watchingOf(args, sink.report), sink);
    if (applied === null) return;
    const { failed, verified, equal, partial, again } = applied;
    for (const text of verifiedText(verified)) sink.note(text);
    if (failed > 0)
      sink.report(
        `${counted(failed, "machine")} failed. Fix the listed causes, then run: ${again}\nIf the plan is wrong for a machine, run rollback --node UUID, then plan and apply again.`,
      );
    sink.report(AFTER.apply(args));
    if (partial) exitWith("partial");
    else if (!equal) exitWith("differs");
  },
};
