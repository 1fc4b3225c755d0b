import { execute } from "../../engine/execute.ts";
import type { Excluded } from "../../engine/part.ts";
import type { Walked } from "../../engine/runner.ts";
import { MigrationError } from "../../lib/error.ts";
import type { Footer, PlanCounts } from "../../model/artefact.ts";
import { type NovaLegName, type NovaStep, stepsOf } from "../../model/nova/nova-plan.ts";
import { closing, openRole } from "../../run/databases.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import type { RunSession } from "../../run/session.ts";
import { novaParts } from "../apply/nova.ts";
import { type Reach, reopenFlavorApi } from "../flavors/flavor-api.ts";
import { FORWARD } from "../order.ts";
import { type NovaFiles, novaPlanOf } from "./nova-files.ts";
import { inspectNova, novaWalk, withNova } from "./nova-place.ts";
import type { Watching } from "./nova-watch.ts";
import { choiceOf } from "./rules/choice.ts";
import { checkRequests, checkTenants, type Tenants, tenantsOf } from "./tenants.ts";

/** Nova's part of an apply: flavors before the machines, hosts after them. */
export interface NovaSide {
  readonly plan: NovaFiles;
  /** The plan's machines: whoever goes through them before `check` spares it that. */
  readonly lines: Tenants["lines"];
  /** Whether its nova-computes stand still. @throws MigrationError N2I-E310 */
  readonly inspect: () => Promise<void>;
  /** Everything that can be known before the first row of anything is written. */
  readonly check: () => Promise<void>;
  readonly flavors: () => Promise<Walked<NovaStep>>;
  /** @param excluded machines that were left out of the load, and why */
  readonly hosts: (excluded: Excluded) => Promise<Walked<NovaStep>>;
}

/** What apply's command line says of Nova. */
interface NovaWords extends Reach {
  readonly leaveNova: boolean;
  /** Asks, and throws unless the answer is yes. */
  readonly confirm: (question: string) => Promise<void>;
  readonly watching: Watching;
  /** The plan's machines. */
  readonly lines: Tenants["lines"];
}

/** Rows of Nova that the run's plan changes. */
export async function novaSteps(run: RunFolder, plan: Footer<PlanCounts>): Promise<number> {
  const file = await novaPlanOf(run, plan);
  return file === null ? 0 : stepsOf(file.counts);
}

/**
 * A load beside a nova-compute that runs loses tenants: nova is looked at, or left by the operator's word.
 *
 * @source facts/systems.md D-3
 */
function checkUnasked(file: NovaFiles | null): void {
  const steps = file === null ? 0 : stepsOf(file.counts);
  const watched = file?.counts.stopped ?? [];
  if (steps > 0) throw new MigrationError("N2I-E311", `the plan changes ${steps} rows of nova`);
  if (watched.length > 0)
    throw new MigrationError(
      "N2I-E311",
      `the plan wants nova-compute of ${watched.slice(0, 5).join(", ")}${watched.length > 5 ? ` and ${watched.length - 5} more` : ""} seen standing still`,
    );
  if (file === null)
    throw new MigrationError(
      "N2I-E311",
      "the plan was made without nova, and nothing tells whether a nova-compute still runs",
      {
        fix: "Give --nova-db to extract, to plan and then to apply; or --leave-nova to load Ironic alone, once every nova-compute is stopped.",
      },
    );
}

/**
 * Opens nova for the time of an apply, when the plan has steps for it.
 *
 * @throws MigrationError N2I-E311 when nova is neither given nor left, N2I-E114 when nova is given
 *   and the run has no plan for it, or has another than the plan was made with
 */
export async function besideNova<T>(
  run: RunFolder,
  session: RunSession,
  plan: Footer<PlanCounts>,
  words: NovaWords,
  work: (side: NovaSide | null) => Promise<T>,
): Promise<T> {
  const { novaDb, leaveNova, confirm, watching } = words;
  const file = await novaPlanOf(run, plan);
  if (novaDb === undefined) {
    if (!leaveNova) checkUnasked(file);
    return work(null);
  }
  if (leaveNova)
    throw new MigrationError("N2I-E100", "--nova-db and --leave-nova exclude each other");
  if (file === null)
    throw new MigrationError("N2I-E114", `${run.path}/plan was made without Nova`, {
      fix: "Run plan again, with --nova-db.",
    });
  if (words.novaApiDb !== undefined && file.header.api === undefined)
    throw new MigrationError("N2I-E114", "the plan for Nova has no flavors outside of nova", {
      fix: "Run plan again, with the same options.",
    });
  return closing(async (keep) => {
    const database = keep(await openRole("nova-db", novaDb, { readOnly: false }));
    const api = await reopenFlavorApi(file.header.api, words, false);
    if (api !== null) keep(api);
    const { api: apart = 0 } = file.counts;
    const inNova = stepsOf(file.counts) - apart;
    if (inNova > 0) await confirm(`Change ${inNova} rows of ${database.shown}?`);
    if (apart > 0) await confirm(`Change ${apart} extra specs of ${api?.shown}?`);
    return withNova(session, database, [file], watching, (place) => {
      const parts = novaParts(place.target, api?.target ?? null);
      const walk = (names: readonly NovaLegName[], excluded?: Excluded) => {
        const legs = names.map((name) => novaWalk(place, parts, name, file));
        return execute(legs, session, { direction: "forward", excluded });
      };
      const { take, lines } = tenantsOf(words.lines, choiceOf(file.header.compute_hosts ?? []));
      return work({
        ...{ plan: file, lines, inspect: place.watch.inspect },
        async check() {
          const machines = await take();
          await checkRequests(database, machines, watching);
          await inspectNova(file, parts, session.journal.entries());
          await place.watch.settle();
          // What the plan says of them is known; what Nova says is asked for by now.
          await checkTenants(session.journal.entries(), database, machines, plan.sha256);
        },
        async flavors() {
          const all = await walk(FORWARD.beforeIronic);
          // Asked to stop in the last batch, nothing is left here and all of the load.
          return { ...all, stopped: session.stopping() };
        },
        hosts: (excluded) => walk(FORWARD.afterIronic, excluded),
      });
    });
  });
}
