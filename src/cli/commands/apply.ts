import type { CommandModule } from "yargs";
import { renderCounts } from "../../core/render/summary.ts";
import type { RunFolder } from "../../edge/disk/run-folder.ts";
import { forward } from "../../engine/forward.ts";
import { gather, type Walked } from "../../engine/walk.ts";
import type { SameSecret } from "../../model/compare.ts";
import { MigrationError } from "../../model/error.ts";
import { EXIT_STATUS } from "../../model/exit.ts";
import type { PlannedMachine } from "../../model/plan.ts";
import { POWER_MAX_AGE } from "../../model/power.ts";
import type { Seal } from "../../model/secret.ts";
import { ironicLeg } from "../../parts/ironic.ts";
import { type IronicPlace, withIronic } from "../../stages/acting.ts";
import { checkOthers } from "../../stages/check-others.ts";
import { lookCloser } from "../../stages/closer.ts";
import { lookForConductors } from "../../stages/conductors.ts";
import { loadMappings, type Mappings } from "../../stages/documents.ts";
import { checkNotFinished, unprotectedNodes } from "../../stages/finishing.ts";
import { rememberGiven } from "../../stages/given-file.ts";
import { nextCommand } from "../../stages/next.ts";
import { checkBlocked } from "../../stages/nothing.ts";
import { besideNova, type NovaSide, novaSteps } from "../../stages/nova-side.ts";
import { novaOptions } from "../../stages/nova-words.ts";
import type { Readings } from "../../stages/power.ts";
import { openProbe } from "../../stages/probe.ts";
import { checkReadings, conductorOf, recheckWith } from "../../stages/recheck.ts";
import { openRoad, type Road, type TargetOptions } from "../../stages/road.ts";
import { inRun, openPlan, PLAN, sealOf } from "../../stages/run.ts";
import { type RunSession, withSession } from "../../stages/session.ts";
import { confirm } from "../confirm.ts";
import { type FormatOptions, formatOptions } from "../print/options.ts";
import { type AfterFinish, afterFinishOption } from "./after-finish.ts";
import { afterLoad, afterNova, beforeLoad } from "./apply-nova.ts";
import { goesOnStaged } from "./going-on.ts";
import {
  leaveNovaOption,
  novaApiOption,
  novaOption,
  type WatchArgs,
  watchingOf,
  watchOptions,
} from "./nova-options.ts";
import {
  exitWith,
  inFlightOption,
  inStage,
  keyOption,
  runOption,
  say,
  targetOptions,
  told,
  type Voice,
  yesOption,
} from "./shared.ts";
import { verifyPlan } from "./verify.ts";

interface Args extends Voice, FormatOptions, TargetOptions, WatchArgs, AfterFinish {
  readonly run: string;
  readonly skipBlocked: boolean;
  readonly staged: boolean;
  readonly powerMaxAge: number;
  readonly recheckPower: boolean;
  readonly novaDb?: string;
  readonly novaApiDb?: string;
  readonly leaveNova: boolean;
  readonly yes: boolean;
  readonly keyFile?: string;
}

/** Whoever wants heartbeats watched gives the database they are in. */
const UNASKED =
  "Notice: nova is not asked, and nothing tells whether a nova-compute still runs; extract, plan and apply with --nova-db watch them.";

export const applyCommand: CommandModule<object, Args> = {
  command: "apply",
  describe: "Load the run's plan into Ironic, then verify it; run it again to go on",
  builder: (yargs) =>
    yargs
      .options({
        ...runOption,
        ...targetOptions,
        ...inFlightOption,
        ...novaOption,
        ...novaApiOption,
        ...watchOptions,
        ...leaveNovaOption(
          "Load Ironic alone, with no look at nova-compute (exit 3 when the plan changes Nova's rows)",
        ),
        "skip-blocked": {
          type: "boolean",
          default: false,
          describe: "Leave blocked machines out (exit 3)",
        },
        staged: {
          type: "boolean",
          default: false,
          describe: "Load in maintenance; `release` hands over machine by machine",
        },
        "power-max-age": {
          type: "number",
          default: POWER_MAX_AGE,
          requiresArg: true,
          describe: "Minutes since the oldest power reading of the plan",
        },
        "recheck-power": {
          type: "boolean",
          default: false,
          describe:
            "Ask each machine once more right before its batch; leave out those that changed",
        },
        ...afterFinishOption,
        ...yesOption,
        ...keyOption,
        ...formatOptions,
      })
      .example("$0 apply --run m1 --ironic-db conf:/etc/ironic/ironic.conf --yes", "")
      .example("$0 apply --run m1 --os-cloud admin --in-flight 8 --yes", "") as never,
  async handler(args) {
    const watching = watchingOf(args, (text) => say(args, text));
    await inRun(args.run, "apply", { create: false }, async (run) => {
      await checkNotFinished(run, "apply would load again what is gone of it", args);
      const plan = await openPlan(`${run.path}/${PLAN}`);
      const { header, footer, lines } = plan;
      const blocked = checkBlocked(footer.footer, args.skipBlocked);
      const seal = await sealOf(run, args.keyFile, header.key);
      const mappings = loadMappings();
      const road = await openRoad(args, mappings, { readOnly: false }, (text) => say(args, text));
      try {
        const readings = await checkReadings(run, header, args.powerMaxAge, Date.now());
        say(args, renderCounts(footer.footer));
        if (footer.footer.nodes + footer.footer.ports > 0)
          await confirm(`Load them into ${road.shown}?`, args.yes);
        const staged = await goesOnStaged(run, footer.sha256, args);
        const how = { header, seal, check: true, staged, unprotected: await unprotectedNodes(run) };
        const job = { run, plan, road, seal, staged, readings, mappings };
        const asks = { confirm: (question: string) => confirm(question, args.yes) };
        const ended = await withSession(run, (session) =>
          besideNova(run, session, footer, { ...args, ...asks, watching, lines }, (nova) =>
            withIronic(run, session, road, how, (place) =>
              load({ ...job, session, nova, place }, args),
            ),
          ),
        );
        if (ended !== null) await tellEnd(job, ended, blocked, args);
      } finally {
        await road.close();
      }
    });
  },
};

/** What a load is made of. */
interface Job {
  readonly run: RunFolder;
  readonly plan: Awaited<ReturnType<typeof openPlan>>;
  readonly road: Road;
  readonly seal: Seal;
  readonly staged: boolean;
  readonly readings: Readings;
  readonly mappings: Mappings;
  readonly session: RunSession;
  readonly nova: NovaSide | null;
  readonly place: IronicPlace;
}

interface Ended {
  /** Machines that failed. */
  readonly failed: number;
  /** Everything is as planned. */
  readonly equal: boolean;
  /** Options for Nova that a rollback wants. */
  readonly nova: object;
}

function again(args: Args, staged: boolean): string {
  return nextCommand("apply", args, { staged, yes: true });
}

/** Flavors, machines, hosts, then verify; null when it was stopped on request. */
async function load(job: Job, args: Args): Promise<Ended | null> {
  const { run, plan, road, seal, staged, session, nova, place } = job;
  await rememberGiven(run, "apply", args);
  if (nova === null) say(args, UNASKED);
  const same = road.same(seal);
  const entries = session.journal.entries();
  if (plan.header.beside_others !== true) await checkOthers(run, road, place.target, entries);
  const guard = guardOf(job, same);
  const flavors = await beforeLoad(nova, guard, args);
  if (flavors === null) {
    say(args, `Stopped on request; nothing is loaded. Next: ${again(args, staged)}`);
    return null;
  }
  const beside = (cause: unknown): unknown =>
    flavors.done > 0 ? afterNova(cause, `${flavors.done} rows of flavors are changed`) : cause;
  const applied = await loadMachines(job, guard, args).catch((cause: unknown) => {
    throw beside(cause);
  });
  tellApplied(applied, args);
  if (applied.broke !== null) throw beside(applied.broke);
  if (applied.stopped) {
    const failures = applied.failed.length;
    const also = failures > 0 ? `, and ${failures} machines failed before that` : "";
    say(args, `Stopped on request${also}. Next: ${again(args, staged)}`);
    return null;
  }
  const moved = await afterLoad(nova, applied, args).catch((cause: unknown) => {
    throw applied.done === 0 ? cause : afterNova(cause, "Ironic is loaded, nova is not");
  });
  if (moved === null) return null;
  const equal = await verifyPlan(plan, place.verifier, same, args, args).catch((cause: unknown) => {
    // Without this, status 1 would say that nothing was changed.
    if (applied.done === 0 || !(cause instanceof MigrationError)) throw cause;
    const what = "everything is loaded, but verify did not end";
    throw new MigrationError("N2I-E301", `${what}: ${cause.code} ${cause.message}`, { cause });
  });
  return {
    failed: applied.failed.length,
    equal: equal && moved && flavors.left === 0,
    nova: nova === null ? {} : novaOptions(nova.plan.header.api),
  };
}

/** The checks before the first write. */
function guardOf({ plan, place, session }: Job, same: SameSecret): () => Promise<void> {
  const { lines, header, footer } = plan;
  const { target } = place;
  const entries = session.journal.entries();
  const look = lookCloser(lines, footer.sha256, header.target_before, same, { target, entries });
  const conductors = lookForConductors(lines, target);
  return async () => {
    await place.precondition();
    await look();
    await conductors();
  };
}

async function loadMachines(
  { plan, place, nova, session, seal, staged, readings, mappings }: Job,
  guard: () => Promise<void>,
  args: Args,
): Promise<Walked<PlannedMachine>> {
  const ask = args.recheckPower ? conductorOf(plan.header, mappings) : null;
  const probe = ask === null ? null : openProbe("native", ask.ipmitool);
  const exclude =
    ask === null || probe === null
      ? {}
      : { exclude: recheckWith(readings, probe.ask, seal, session.signal, ask) };
  const { sha256, footer } = plan.footer;
  const leg = {
    ...ironicLeg(place.part, { sha256, lines: plan.lines }),
    ...{ staged, precondition: guard, ...exclude },
    async check() {
      await place.check();
      // A nova-compute that somebody starts amid a long load is met before the next batch.
      await nova?.look();
    },
  };
  return inStage(
    "apply",
    footer.machines,
    args,
    (progress) => gather(forward(leg, session), progress),
    ({ done, found, broke }) =>
      `${done} rows created, ${found} there already${broke === null ? "" : ", stopped midway"}`,
  ).finally(() => probe?.close());
}

function tellApplied({ done, found, left, excluded, failed }: Walked<PlannedMachine>, args: Args) {
  const drifted =
    left.length > 0 ? `, ${left.length} changed since they were loaded and left alone` : "";
  told(args, `Apply: ${done} rows created, ${found} unchanged${drifted}.`);
  for (const [what, some] of [
    ["Left out", excluded],
    ["Failed", failed],
  ] as const)
    for (const { line, why } of some)
      told(args, `${what}: ${line.uuid} (bm_nodes.id=${line.bm_node_id}) ${why}`);
}

async function tellEnd(
  { run, plan, staged }: Pick<Job, "run" | "plan" | "staged">,
  { failed, equal, nova }: Ended,
  blocked: number,
  args: Args,
): Promise<void> {
  if (failed > 0)
    say(
      args,
      `${failed} machines failed; mend what is named, then: ${again(args, staged)}\nWhere the plan itself is wrong: rollback --node UUID, then plan and apply anew.`,
    );
  say(
    args,
    `Next: ${nextCommand("status", { run: args.run })}\nUndo: ${nextCommand("rollback", args, { ...nova, all: true, plan: true })}`,
  );
  if (failed > 0) exitWith(EXIT_STATUS.partial.status);
  else if (!equal) exitWith(EXIT_STATUS.differs.status);
  const left = args.leaveNova && (await novaSteps(run, plan.footer)) > 0;
  if ((blocked > 0 || left) && (equal || failed > 0)) {
    await listLeftOut(plan, args);
    exitWith(EXIT_STATUS.partial.status);
  }
}

async function listLeftOut({ lines }: Job["plan"], args: Args): Promise<void> {
  for await (const batch of lines())
    for (const { verdict, uuid, bm_node_id, reason } of batch)
      if (verdict === "blocked" || verdict === "conflict")
        told(
          args,
          `Left out: ${uuid ?? "without uuid"} (bm_nodes.id=${bm_node_id}) ${verdict}: ${reason ?? ""}`,
        );
}
