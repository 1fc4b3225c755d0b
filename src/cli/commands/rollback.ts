import type { CommandModule } from "yargs";
import { ledgerOf, plansOf, wasBegun } from "../../core/apply/ledger.ts";
import type { Scope } from "../../core/apply/undo.ts";
import { findPlan } from "../../edge/disk/archive.ts";
import { readJournal } from "../../edge/disk/journal.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import type { JournalEntry } from "../../model/artefact.ts";
import { MigrationError } from "../../model/error.ts";
import { EXIT_STATUS } from "../../model/exit.ts";
import type { NovaPart, NovaStep } from "../../model/nova-plan.ts";
import { printLeft } from "../print/left.ts";
import { type FormatOptions, formatOptions } from "../print/options.ts";
import { confirm } from "../wire/acting.ts";
import { loadMappings } from "../wire/documents.ts";
import { readNovaJournal } from "../wire/nova-acting.ts";
import type { Staying } from "../wire/nova-undoing.ts";
import { openRoad, type TargetOptions } from "../wire/road.ts";
import { inRun } from "../wire/run.ts";
import { afterNova } from "./apply-nova.ts";
import { novaBackOf } from "./nova-back.ts";
import {
  novaApiOption,
  novaOption,
  type WatchArgs,
  watchingOf,
  watchOptions,
} from "./nova-options.ts";
import { novaStepsBack } from "./nova-preview.ts";
import { checkNames, tellTrees } from "./rollback-names.ts";
import { preview, undoPlan } from "./rollback-plan.ts";
import {
  exitWith,
  inFlightOption,
  keyOption,
  lockWaitOption,
  runOption,
  say,
  targetOptions,
  told,
  type Voice,
  yesOption,
} from "./shared.ts";

interface Args extends Voice, FormatOptions, TargetOptions, WatchArgs {
  readonly run: string;
  readonly novaDb?: string;
  readonly novaApiDb?: string;
  readonly all: boolean;
  readonly node?: readonly string[];
  readonly plan: boolean;
  readonly yes: boolean;
  readonly keyFile?: string;
}

/** @throws MigrationError N2I-E305 when neither or both of --all and --node say what to undo */
function scopeOf({ all, node = [] }: Args): Scope {
  if (all === node.length > 0)
    throw new MigrationError(
      "N2I-E305",
      all ? "--all and --node exclude each other" : "nothing says what to undo",
    );
  const wanted = new Set(node.map((text) => text.toLowerCase()));
  const wants: Scope["wants"] = ({ uuid, bm_node_id }) =>
    all || wanted.has(uuid?.toLowerCase() ?? "") || wanted.has(String(bm_node_id));
  return { all, wants };
}

export const rollbackCommand: CommandModule<object, Args> = {
  command: "rollback",
  describe: "Take back what this run loaded; rows somebody changed since are left and listed",
  builder: (yargs) =>
    yargs
      .options({
        ...runOption,
        ...targetOptions,
        ...inFlightOption,
        ...lockWaitOption,
        ...novaOption,
        ...novaApiOption,
        ...watchOptions,
        all: { type: "boolean", default: false, describe: "Every machine of this run" },
        node: {
          type: "string",
          array: true,
          nargs: 1,
          describe: "This machine: uuid or bm_nodes.id",
        },
        plan: { type: "boolean", default: false, describe: "Only show what would be removed" },
        ...yesOption,
        ...keyOption,
        ...formatOptions,
      })
      .example(
        "$0 rollback --run m1 --ironic-db conf:/etc/ironic/ironic.conf --all --plan",
        "",
      ) as never,
  async handler(args) {
    const wanted = scopeOf(args);
    const tell = (text: string): void => say(args, text);
    const watching = watchingOf(args, tell);
    await inRun(args.run, "rollback", { create: false }, async (run) => {
      const { entries } = await readJournal(`${run.path}/journal.jsonl`);
      const plans = await plansAt(run, entries);
      const { named, machines } = await checkNames(run, plans, args);
      const nova = {
        ...{ all: args.all, machines: wanted.wants },
        wants: ({ machine }: NovaStep) => args.all || machines.has(machine ?? ""),
      };
      const changed = (await readNovaJournal(run)).plans.length > 0;
      if (plans.length === 0 && !changed)
        return told(args, "Rollback: this run has loaded nothing.");
      const untold = (await novaStepsBack(run, args, nova)) > 0 && args.novaDb === undefined;
      if (args.plan) {
        await preview(run, plans, entries, wanted, nova, args);
        if (untold)
          told(args, "Rows of nova would stay as they are; --nova-db takes them back too.");
        return;
      }
      const mappings = loadMappings();
      const road = await openRoad(args, mappings, { readOnly: false }, tell).catch(
        (cause: unknown) => {
          // Nova's rows come back whether or not there still is an Ironic to ask.
          if (
            !changed ||
            args.novaDb === undefined ||
            plans.some((sha256) => isThere(entries, sha256))
          )
            throw cause;
          tell(
            `Nothing of this run is left in Ironic, which is not asked: ${cause instanceof Error ? cause.message : String(cause)}`,
          );
          return null;
        },
      );
      try {
        const place = road === null ? "nova" : road.shown;
        await confirm(`Remove ${named} of this run from ${place}?`, args.yes);
        let conflicts = 0;
        const novaBack = changed ? novaBackOf(run, args, nova, watching) : null;
        let removed = 0;
        const staying = new Map((await novaBack?.look()) ?? []);
        const back = async (part: NovaPart): Promise<boolean> => {
          if (novaBack === null) return true;
          const { left, stopped } = await novaBack.part(part, staying).catch((cause: unknown) => {
            throw removed === 0
              ? cause
              : afterNova(
                  cause,
                  `${removed} rows are removed from Ironic, nova's are not all back`,
                );
          });
          conflicts += left;
          return !stopped;
        };
        const stopped = "Stopped on request; run the same command to go on.";
        const kept = new Map<string, string>();
        conflicts += staying.size;
        await printLeft(whole(staying), args);
        const others = withoutSome(wanted, staying);
        for (const sha256 of plans) {
          if (road === null) break;
          const undone = await undoPlan(run, road, sha256, others, args);
          conflicts += undone.left;
          removed += undone.removed;
          for (const [uuid, why] of undone.staying) kept.set(uuid, why);
          if (undone.stopped) return tell(stopped);
        }
        if (novaBack !== null && kept.size > 0)
          told(args, `${kept.size} machines stay in Ironic, and their rows of nova with them.`);
        for (const [uuid, why] of kept) staying.set(uuid, why);
        if (!(await back("hosts")) || !(await back("api")) || !(await back("flavors")))
          return tell(stopped);
        if (untold) {
          told(
            args,
            "Rows of nova that this run changed are as they are; --nova-db takes them back too.",
          );
          conflicts += 1;
        }
        await tellTrees(run, args);
        if (conflicts > 0) exitWith(EXIT_STATUS.differs.status);
      } finally {
        await road?.close();
      }
    });
  },
};

/** Machines of which a row of Nova was changed stay whole: their nodes are what their instances have. */
function withoutSome({ all, wants }: Scope, staying: Staying): Scope {
  const some = new Set(staying.keys());
  return {
    all: all && some.size === 0,
    wants: (machine) => wants(machine) && !some.has(machine.uuid ?? ""),
  };
}

function whole(staying: Staying): readonly { readonly id: string; readonly why: string }[] {
  return [...staying].map(([uuid, why]) => ({
    id: `machine:${uuid}`,
    why: `${why}: all of it stays`,
  }));
}

/** Whether something a plan loaded is in Ironic still, by the journal. */
function isThere(entries: readonly JournalEntry[], sha256: string): boolean {
  const ledger = ledgerOf(entries, sha256);
  return ledger.begun.some((stretch) => wasBegun(ledger, stretch));
}

/** The run's plans, newest first; one of which nothing is left in Ironic is not missed. */
async function plansAt(
  run: RunFolder,
  entries: readonly JournalEntry[],
): Promise<readonly string[]> {
  const plans: string[] = [];
  for (const sha256 of plansOf(entries)) {
    const there = () =>
      findPlan(run, sha256).then(
        () => true,
        () => false,
      );
    if (isThere(entries, sha256) || (await there())) plans.push(sha256);
  }
  return plans;
}
