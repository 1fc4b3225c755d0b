import { EXIT_STATUS } from "../../lib/exit-status.ts";
import { isHeldUp, loadable, wantsPower } from "../../migrate/plan/empty-plan.ts";
import { plan } from "../../migrate/plan/plan.ts";
import { writeProposal } from "../../migrate/plan/propose.ts";
import { renderCounts, renderHeader, renderNovaCounts } from "../../migrate/plan/rules/summary.ts";
import { ipmitoolOf } from "../../model/power.ts";
import { openPlan } from "../../run/run.ts";
import { AFTER } from "../../window/runner/after.ts";
import type { PlanArgs } from "../options/plan.ts";
import { widthOf } from "../print/out.ts";
import { EVERY } from "../views/every-row.ts";
import { createLines } from "../views/plan-lines.ts";
import { machinesView } from "../views/show.ts";
import { novaAsked } from "./node/nova-options.ts";
import { exitWith, matchedBy, printLines, printMachines, say, sinkOf } from "./shared.ts";
import { printDiff } from "./show.ts";

export async function planCommand(args: PlanArgs): Promise<void> {
  const asked = { nova: novaAsked(args), ipmitool: ipmitoolOf(args.conductorIpmitool) };
  const lines = createLines(args.allRows);
  const made = await plan(args, asked, sinkOf({ ...args, format: "table" }), lines.add);
  const { nova, counts, others, path } = made;
  const { match } = args;
  if (match !== undefined)
    await printMachines(machinesView((await openPlan(path)).lines()), matchedBy(args.run, match));
  printLines(
    [
      renderHeader(made.header, made.conductors),
      ...(match === undefined ? lines.text(counts, made.late, widthOf({ format: "table" })) : []),
      ...(lines.short() && match === undefined ? [`All: ${EVERY.plan(args)}`] : []),
      renderCounts(counts),
      ...(nova === null ? [] : [renderNovaCounts(nova)]),
    ].join("\n"),
  );
  if (args.diff !== undefined) {
    const { header, lines } = await openPlan(path);
    await printDiff({ origins: header.origins, lines }, args.diff, args.allRows);
  }
  if (made.proposal !== null) say(args, writeProposal(args, made.proposal));
  if (others !== null) say(args, `${others}: apply will refuse; plan --beside-others allows it.`);
  if (nova === null)
    say(
      args,
      "No Nova database was given: apply will refuse (N2I-E311) unless you pass --leave-nova. With plan --nova-db, apply watches the heartbeats of nova-compute.",
    );
  say(
    args,
    `Saved ${path} (sha256 ${made.sha256.slice(0, 12)}). Valid while source and target stay unchanged.\n${AFTER.plan(args, counts, made.header.made_from.power !== null && !wantsPower(counts))}`,
  );
  // CI has to see that nothing would be loaded.
  if (loadable(counts) === 0 && isHeldUp(counts)) return exitWith(EXIT_STATUS.empty.status);
  const { hosts = 0, flavors = 0, api = 0 } = nova ?? {};
  const rows = counts.nodes + counts.ports + hosts + flavors + api;
  if (args.detailedExitcode && rows > 0) exitWith(EXIT_STATUS.differs.status);
}
