import type { CommandModule } from "yargs";
import { apply } from "../../core/apply/apply.ts";
import { lookCloser } from "../../core/apply/closer.ts";
import { lookForConductors } from "../../core/apply/conductors.ts";
import { looking } from "../../core/apply/looking.ts";
import { nextCommand } from "../../core/apply/next.ts";
import { novaOptions } from "../../core/apply/nova-words.ts";
import { renderCounts } from "../../core/render/summary.ts";
import { MigrationError } from "../../model/error.ts";
import { EXIT_STATUS } from "../../model/exit.ts";
import { POWER_MAX_AGE } from "../../model/power.ts";
import { type FormatOptions, formatOptions } from "../print/options.ts";
import { confirm, withActing } from "../wire/acting.ts";
import { loadMappings } from "../wire/documents.ts";
import { checkNotFinished, unprotectedNodes } from "../wire/finishing.ts";
import { rememberGiven } from "../wire/given.ts";
import { checkBlocked } from "../wire/nothing.ts";
import { besideNova, novaSteps } from "../wire/nova-side.ts";
import { checkOthers } from "../wire/others.ts";
import { openProbe } from "../wire/probe.ts";
import { checkReadings, conductorOf, recheckWith } from "../wire/recheck.ts";
import { openRoad, type TargetOptions } from "../wire/road.ts";
import { inRun, openPlan, PLAN, sealOf } from "../wire/run.ts";
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
        let failed = 0;
        const staged = await goesOnStaged(run, footer.sha256, args);
        const again = nextCommand("apply", args, { staged, yes: true });
        const source = { check: true, staged, unprotected: await unprotectedNodes(run) };
        const ended = await besideNova(run, footer, { ...args, watching, lines }, (nova) =>
          withActing(run, road, header, seal, source, async (acting, verifier) => {
            await rememberGiven(run, "apply", args);
            if (nova === null) say(args, UNASKED);
            const same = road.same(seal);
            const look = lookCloser(plan.lines, footer.sha256, header.target_before, same, acting);
            const conductors = lookForConductors(plan.lines, acting.target);
            const guard = async (): Promise<void> => {
              await acting.guard();
              await look();
              await conductors();
            };
            if (header.beside_others !== true) await checkOthers(run, road, acting);
            const flavors = await beforeLoad(nova, guard, args);
            if (flavors === null) {
              say(args, `Stopped on request; nothing is loaded. Next: ${again}`);
              return null;
            }
            const beside = (cause: unknown): unknown =>
              flavors.done > 0
                ? afterNova(cause, `${flavors.done} rows of flavors are changed`)
                : cause;
            const ask = args.recheckPower ? conductorOf(header, mappings) : null;
            const probe = ask === null ? null : openProbe("native", ask.ipmitool);
            const recheck =
              ask === null || probe === null
                ? {}
                : { recheck: recheckWith(readings, probe.ask, seal, acting.signal, ask) };
            const applied = await inStage(
              "apply",
              footer.footer.machines,
              args,
              (progress) =>
                apply(
                  plan.lines(),
                  footer.sha256,
                  looking({ ...acting, ...recheck, guard, progress }, nova?.acting.guard),
                ),
              ({ created, found, broke }) =>
                `${created} rows created, ${found} there already${broke === null ? "" : ", stopped midway"}`,
            )
              .catch((cause: unknown) => {
                throw beside(cause);
              })
              .finally(() => probe?.close());
            told(
              args,
              `Apply: ${applied.created} rows created, ${applied.found} unchanged${applied.drifted > 0 ? `, ${applied.drifted} changed since they were loaded and left alone` : ""}.`,
            );
            for (const { machine, why } of applied.left)
              told(args, `Left out: ${machine.uuid} (bm_nodes.id=${machine.bm_node_id}) ${why}`);
            for (const { machine, why } of applied.failed)
              told(args, `Failed: ${machine.uuid} (bm_nodes.id=${machine.bm_node_id}) ${why}`);
            failed = applied.failed.length;
            if (applied.broke !== null) throw beside(applied.broke);
            if (applied.stopped) {
              const also = failed > 0 ? `, and ${failed} machines failed before that` : "";
              say(args, `Stopped on request${also}. Next: ${again}`);
              return null;
            }
            const moved = await afterLoad(nova, applied, args).catch((cause: unknown) => {
              throw applied.created === 0
                ? cause
                : afterNova(cause, "Ironic is loaded, nova is not");
            });
            if (moved === null) return null;
            const equal = await verifyPlan(plan, verifier, same, args, args).catch(
              (cause: unknown) => {
                // Without this, status 1 would say that nothing was changed.
                if (applied.created === 0 || !(cause instanceof MigrationError)) throw cause;
                const what = "everything is loaded, but verify did not end";
                throw new MigrationError("N2I-E301", `${what}: ${cause.code} ${cause.message}`, {
                  cause,
                });
              },
            );
            return {
              equal: equal && moved && flavors.left === 0,
              nova: nova === null ? {} : novaOptions(nova.plan.header.api),
            };
          }),
        );
        if (ended === null) return;
        if (failed > 0)
          say(
            args,
            `${failed} machines failed; mend what is named, then: ${again}\nWhere the plan itself is wrong: rollback --node UUID, then plan and apply anew.`,
          );
        say(
          args,
          `Next: ${nextCommand("status", { run: args.run })}\nUndo: ${nextCommand("rollback", args, { ...ended.nova, all: true, plan: true })}`,
        );
        if (failed > 0) exitWith(EXIT_STATUS.partial.status);
        else if (!ended.equal) exitWith(EXIT_STATUS.differs.status);
        const left = args.leaveNova && (await novaSteps(run, footer)) > 0;
        if ((blocked > 0 || left) && (ended.equal || failed > 0)) {
          await listLeftOut(plan, args);
          exitWith(EXIT_STATUS.partial.status);
        }
      } finally {
        await road.close();
      }
    });
  },
};

async function listLeftOut(plan: Awaited<ReturnType<typeof openPlan>>, args: Args): Promise<void> {
  for await (const batch of plan.lines())
    for (const { verdict, uuid, bm_node_id, reason } of batch)
      if (verdict === "blocked" || verdict === "conflict")
        told(
          args,
          `Left out: ${uuid ?? "without uuid"} (bm_nodes.id=${bm_node_id}) ${verdict}: ${reason ?? ""}`,
        );
}
