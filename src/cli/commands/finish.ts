import type { CommandModule } from "yargs";
import { plansOf } from "../../core/apply/ledger.ts";
import { nextCommand } from "../../core/apply/next.ts";
import { type Finished, finish, unfinish } from "../../core/release/finish.ts";
import { guardedNodes } from "../../core/release/guards.ts";
import { readJournal } from "../../edge/disk/journal.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import type { JournalEntry } from "../../model/artefact.ts";
import { MigrationError } from "../../model/error.ts";
import { EXIT_STATUS } from "../../model/exit.ts";
import { type FormatOptions, formatOptions } from "../print/options.ts";
import { printStandings } from "../print/standings.ts";
import { confirm } from "../wire/acting.ts";
import { loadMappings } from "../wire/documents.ts";
import { endOfRun, knowsGuards, withFinishing } from "../wire/finishing.ts";
import { wantedOf } from "../wire/named.ts";
import { openRoad, type Road, type TargetOptions } from "../wire/road.ts";
import { inRun, openPlan, PLAN } from "../wire/run.ts";
import { previewFinish } from "./finish-plan.ts";
import {
  exitWith,
  inFlightOption,
  inStage,
  lockWaitOption,
  runOption,
  say,
  targetOptions,
  told,
  type Voice,
  yesOption,
} from "./shared.ts";

interface Args extends Voice, FormatOptions, TargetOptions {
  readonly run: string;
  readonly node?: readonly string[];
  readonly undo: boolean;
  readonly plan: boolean;
  readonly lockWait: number;
  readonly yes: boolean;
}

export const finishCommand: CommandModule<object, Args> = {
  command: "finish",
  describe:
    "End the window: clear the protection of tenants' machines and leave their cleaning to Ironic",
  builder: (yargs) =>
    yargs
      .options({
        ...runOption,
        ...targetOptions,
        ...inFlightOption,
        ...lockWaitOption,
        node: {
          type: "string",
          array: true,
          nargs: 1,
          describe: "Only this machine: uuid or bm_nodes.id",
        },
        undo: {
          type: "boolean",
          default: false,
          describe: "Protect the machines again that this run cleared",
        },
        plan: { type: "boolean", default: false, describe: "Only show what would be cleared" },
        ...yesOption,
        ...formatOptions,
      })
      .example("$0 finish --run m1 --ironic-db conf:/etc/ironic/ironic.conf --plan", "")
      .example("$0 finish --run m1 --ironic-db conf:/etc/ironic/ironic.conf", "") as never,
  async handler(args) {
    await inRun(args.run, "finish", { create: false }, async (run) => {
      const { entries } = await readJournal(`${run.path}/journal.jsonl`);
      checkLoaded(run, entries);
      const plan = await openPlan(`${run.path}/${PLAN}`);
      const wanted = await wantedOf(args.node ?? [], plan.lines);
      const nodes = () => guardedNodes(plan.lines(), plan.header.origins, wanted);
      const mappings = loadMappings();
      const road = await openRoad(args, mappings, { readOnly: args.plan }, (text) =>
        say(args, text),
      );
      try {
        if (args.plan) return await previewFinish(run, road, plan.header, nodes(), args);
        await confirm(question(args, road), args.yes);
        await act(run, road, plan, nodes, args);
      } finally {
        await road.close();
      }
    });
  },
};

function question({ node, undo }: Args, { shown }: Road): string {
  const which = node === undefined ? "the machines of this run" : node.join(", ");
  return undo
    ? `Protect ${which} in ${shown} again?`
    : `Clear the protection of ${which} in ${shown}? Nova may delete and rebuild them from then on.`;
}

/**
 * What is not loaded has no window to end.
 *
 * @throws MigrationError N2I-E320
 */
function checkLoaded({ path }: RunFolder, entries: readonly JournalEntry[]): void {
  if (plansOf(entries).length === 0)
    throw new MigrationError("N2I-E320", `${path} has loaded nothing`);
}

async function act(
  run: RunFolder,
  road: Road,
  { header, footer }: Awaited<ReturnType<typeof openPlan>>,
  nodes: () => ReturnType<typeof guardedNodes>,
  args: Args,
): Promise<void> {
  await withFinishing(run, road, header, args.lockWait, async (finishing, release) => {
    const total = args.node === undefined ? footer.footer.machines : args.node.length;
    const made = await inStage(
      args.undo ? "protect" : "finish",
      total,
      args,
      (progress) => {
        const all = { ...finishing, progress };
        return args.undo ? unfinish(nodes(), all) : finish(nodes(), all);
      },
      ({ changed }) => `${changed} machines ${args.undo ? "protected again" : "cleared"}`,
    );
    if (!knowsGuards(release))
      told(args, `Ironic ${release.doc.release} protects no machine: there is nothing to clear.`);
    tell(made, args);
    if (made.left.length > 0) {
      await printStandings(made.left, args);
      exitWith(EXIT_STATUS.partial.status);
    }
    if (made.broke !== null) throw made.broke;
    if (made.stopped) say(args, "Stopped on request; run the same command to go on.");
    else if (args.node === undefined && made.left.length === 0) {
      const { clock, by, journal } = finishing;
      const at = new Date(clock.now()).toISOString();
      const ended = (await endOfRun(run)) !== null;
      if (args.undo && ended) await journal.append({ do: "reopen", at, by });
      if (!args.undo && !ended) await journal.append({ do: "end", plan: footer.sha256, at, by });
      if (!args.undo) told(args, "This run is done.");
    }
    const undo = !args.undo;
    say(args, `${undo ? "Undo" : "Next"}: ${nextCommand("finish", args, { undo })}`);
  });
}

function tell({ changed, fine, held, left }: Finished, args: Args): void {
  const keeps = held === 0 ? "" : `, ${held} held by the plan and still protected`;
  const text = args.undo
    ? `Finish taken back: ${changed} machines protected again`
    : `Finish: ${changed} machines cleared, ${fine} with nothing to clear${keeps}`;
  told(args, `${text}, ${left.length} left.`);
}
