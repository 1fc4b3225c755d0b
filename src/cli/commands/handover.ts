import { ONE_BY_ONE, type Pace } from "../../engine/window-part.ts";
import { MigrationError } from "../../model/error.ts";
import { EXIT_STATUS } from "../../model/exit.ts";
import { plannedNodes } from "../../parts/hand-over.ts";
import { standingsView } from "../../report/standings.ts";
import { openRole } from "../../stages/databases.ts";
import { loadMappings } from "../../stages/documents.ts";
import { checkNotFinished } from "../../stages/finished.ts";
import { rememberGiven } from "../../stages/given-file.ts";
import { release, restage, withReleasing } from "../../stages/handing-over.ts";
import { wantedOf } from "../../stages/named.ts";
import { nextCommand } from "../../stages/next.ts";
import { loadable, nothingLoads } from "../../stages/nothing.ts";
import { inRun, openPlan, PLAN } from "../../stages/run.ts";
import { confirm } from "../confirm.ts";
import type { HandoverArgs } from "../options/handover.ts";
import { printView } from "../print/view.ts";
import { exitWith, inStage, say, told } from "./shared.ts";

const STOPPED = "Stopped on request; run the same command to go on.";

export async function handoverCommand(args: HandoverArgs): Promise<void> {
  const pace = paceOf(args);
  await inRun(args.run, "handover", { create: false }, async (run) => {
    if (args.undo) await checkNotFinished(run, "tenants' machines would be in maintenance", args);
    const plan = await openPlan(`${run.path}/${PLAN}`);
    const { machines } = plan.footer.footer;
    if (!args.undo && loadable(plan.footer.footer) === 0) throw nothingLoads(plan.footer.footer);
    const wanted = await wantedOf(args.node ?? [], plan.lines);
    const mappings = await loadMappings();
    const database = await openRole("ironic-db", args.ironicDb, { readOnly: false });
    try {
      const which = args.node === undefined ? "the staged machines" : args.node.join(", ");
      const doing = args.undo ? "Stage again" : "Hand over";
      await confirm(`${doing} ${which} of ${database.shown}?`, args.yes);
      const logs = args.conductorLog ?? [];
      await withReleasing(run, database, plan.header, mappings, logs, async (releasing) => {
        if (!args.undo) await rememberGiven(run, "handover", args);
        const nodes = () => plannedNodes(plan.lines(), wanted);
        const trouble = args.undo
          ? await inStage(
              "stage",
              machines,
              args,
              (progress) => restage(nodes(), { ...releasing, progress }, args.lockWait),
              ({ staged }) => `${staged} machines staged again`,
            ).then(({ staged, left, stopped, broke }) => {
              told(
                args,
                `Handover taken back: ${staged} machines staged again, ${left.length} left.`,
              );
              if (stopped) say(args, STOPPED);
              return { failed: left, noted: [], broke };
            })
          : await inStage(
              "handover",
              machines,
              args,
              (progress) => release(nodes(), { ...releasing, progress }, pace),
              ({ released, done }) => `${released} machines released, ${done} handed over`,
            ).then((made) => {
              told(
                args,
                `Handover: ${made.released} machines released now, ${made.done} handed over, ` +
                  `${made.waiting} waiting, ${made.held} held by the plan, ${made.trouble.length} failed${made.before > 0 ? `, ${made.before} of them before` : ""}` +
                  `${made.noted.length > 0 ? `; of ${made.noted.length} a conductor says something` : ""}.`,
              );
              for (const notice of made.notices) say(args, `Notice: ${notice}.`);
              if (made.stopped) say(args, STOPPED);
              return { failed: made.trouble, noted: made.noted, broke: made.broke };
            });
        const listed = [...trouble.failed, ...trouble.noted];
        if (listed.length > 0) await printView(standingsView(listed, logs.length > 0), args);
        if (trouble.failed.length > 0) exitWith(EXIT_STATUS.partial.status);
        if (trouble.broke !== null) throw trouble.broke;
        const undo = !args.undo;
        say(args, `${undo ? "Undo" : "Next"}: ${nextCommand("handover", args, { undo })}`);
      });
    } finally {
      await database.close();
    }
  });
}

/** @throws MigrationError N2I-E100 */
function paceOf({ inFlight, perMinute, deadline, maxFailures }: HandoverArgs): Pace {
  if (!(inFlight >= 1 && maxFailures >= 1 && deadline > 0 && (perMinute ?? 1) > 0))
    throw new MigrationError(
      "N2I-E100",
      "--in-flight and --max-failures are at least 1, --deadline and --per-minute more than 0",
    );
  const every = perMinute === undefined ? 0 : 60_000 / perMinute;
  return { ...ONE_BY_ONE, inFlight, every, deadline: deadline * 1000, maxFailures };
}
