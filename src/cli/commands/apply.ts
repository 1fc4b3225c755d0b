import { renderCounts } from "../../core/render/summary.ts";
import { EXIT_STATUS } from "../../model/exit.ts";
import { verifiedText } from "../../report/verify.ts";
import { type Ended, type Job, load } from "../../stages/apply.ts";
import { openBackend } from "../../stages/backend.ts";
import { loadMappings } from "../../stages/documents.ts";
import { checkNotFinished, unprotectedNodes } from "../../stages/finished.ts";
import { rememberGiven } from "../../stages/given-file.ts";
import { goesOnStaged } from "../../stages/going-on.ts";
import { withIronic } from "../../stages/ironic-place.ts";
import { nextCommand } from "../../stages/next.ts";
import { checkBlocked } from "../../stages/nothing.ts";
import { besideNova, novaSteps } from "../../stages/nova-side.ts";
import { checkReadings } from "../../stages/recheck.ts";
import { inRun, openPlan, PLAN, sealOf } from "../../stages/run.ts";
import { withSession } from "../../stages/session.ts";
import { confirm } from "../confirm.ts";
import type { ApplyArgs } from "../options/apply.ts";
import { watchingOf } from "./nova-options.ts";
import { exitWith, note, say, sinkOf, told } from "./shared.ts";

/** Whoever wants heartbeats watched gives the database they are in. */
const UNASKED =
  "Notice: nova is not asked, and nothing tells whether a nova-compute still runs; extract, plan and apply with --nova-db watch them.";

export async function applyCommand(args: ApplyArgs): Promise<void> {
  const sink = sinkOf(args);
  const watching = watchingOf(args, sink.say);
  await inRun(args.run, "apply", { create: false }, async (run) => {
    await checkNotFinished(run, "apply would load again what is gone of it", args);
    const plan = await openPlan(`${run.path}/${PLAN}`);
    const { header, footer, lines } = plan;
    const blocked = checkBlocked(footer.footer, args.skipBlocked);
    const seal = await sealOf(run, args.keyFile, header.key);
    const mappings = await loadMappings();
    const backend = await openBackend(args, mappings, { readOnly: false }, (text) =>
      say(args, text),
    );
    try {
      const readings = await checkReadings(run, header, args.powerMaxAge, Date.now());
      say(args, renderCounts(footer.footer));
      if (footer.footer.nodes + footer.footer.ports > 0)
        await confirm(`Load them into ${backend.shown}?`, args.yes);
      const staged = await goesOnStaged(run, footer.sha256, args.staged, sink);
      const how = { header, seal, check: true, staged, unprotected: await unprotectedNodes(run) };
      const again = nextCommand("apply", args, { staged, yes: true });
      const { recheckPower } = args;
      const job = {
        ...{ run, plan, backend, seal, staged, readings, mappings },
        ...{ sink, again, recheckPower },
      };
      const asks = { confirm: (question: string) => confirm(question, args.yes) };
      const ended = await withSession(run, (session) =>
        besideNova(run, session, footer, { ...args, ...asks, watching, lines }, (nova) =>
          withIronic(run, session, backend, how, async (place) => {
            await rememberGiven(run, "apply", args);
            if (nova === null) sink.say(UNASKED);
            return load({ ...job, session, nova, place });
          }),
        ),
      );
      if (ended !== null) await tellEnd(job, ended, blocked, args);
    } finally {
      await backend.close();
    }
  });
}

async function tellEnd(
  { run, plan, again }: Pick<Job, "run" | "plan" | "again">,
  { failed, verified, equal, nova }: Ended,
  blocked: number,
  args: ApplyArgs,
): Promise<void> {
  for (const text of verifiedText(verified)) note(args, text);
  if (failed > 0)
    say(
      args,
      `${failed} machines failed; fix what is named, then: ${again}\nWhere the plan itself is wrong: rollback --node UUID, then plan and apply anew.`,
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

async function listLeftOut({ lines }: Job["plan"], args: ApplyArgs): Promise<void> {
  for await (const batch of lines())
    for (const { verdict, uuid, bm_node_id, reason } of batch)
      if (verdict === "blocked" || verdict === "conflict")
        told(
          args,
          `Left out: ${uuid ?? "without uuid"} (bm_nodes.id=${bm_node_id}) ${verdict}: ${reason ?? ""}`,
        );
}
