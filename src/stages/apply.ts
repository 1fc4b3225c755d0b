import { renderCounts } from "../core/render/summary.ts";
import { readJournal } from "../edge/disk/journal.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import type { PlannedMachine } from "../model/plan.ts";
import { openBackend, type TargetOptions } from "./backend.ts";
import { closing } from "./databases.ts";
import { loadMappings } from "./documents.ts";
import { checkNotFinished, unprotectedNodes } from "./finished.ts";
import type { Reach } from "./flavor-api.ts";
import { rememberGiven } from "./given-file.ts";
import { withIronic } from "./ironic-place.ts";
import { type Loaded, load } from "./load.ts";
import { nextCommand } from "./next.ts";
import { checkBlocked } from "./nothing.ts";
import { besideNova, novaSteps } from "./nova-side.ts";
import type { Watching } from "./nova-watch.ts";
import { checkReadings } from "./recheck.ts";
import { inRun, openPlan, PLAN, sealOf } from "./run.ts";
import { wasStaged } from "./run-files.ts";
import { withSession } from "./session.ts";
import type { Sink } from "./sink.ts";

/** What apply is given. */
export interface ApplyWords extends TargetOptions, Reach {
  readonly run: string;
  readonly skipBlocked: boolean;
  readonly staged: boolean;
  readonly powerMaxAge: number;
  readonly recheckPower: boolean;
  readonly leaveNova: boolean;
  readonly afterFinish: boolean;
  readonly keyFile?: string;
}

interface Applied extends Loaded {
  /** The command that goes on with it. */
  readonly again: string;
  /** Machines are left out, or Nova's rows are. */
  readonly partial: boolean;
}

/** Whoever wants heartbeats watched gives the database they are in. */
const UNASKED =
  "Notice: nova is not asked, and nothing tells whether a nova-compute still runs; extract, plan and apply with --nova-db watch them.";

/** Loads the run's plan, and verifies it; null when it was stopped on request. */
export function apply(words: ApplyWords, watching: Watching, sink: Sink): Promise<Applied | null> {
  return inRun(words.run, "apply", { create: false }, (run) =>
    closing(async (keep) => {
      await checkNotFinished(run, "apply would load again what is gone of it", words);
      const plan = await openPlan(`${run.path}/${PLAN}`);
      const { header, footer, lines } = plan;
      const blocked = checkBlocked(footer.footer, words.skipBlocked);
      const seal = await sealOf(run, words.keyFile, header.key);
      const mappings = await loadMappings();
      const backend = keep(await openBackend(words, mappings, { readOnly: false }, sink.say));
      const readings = await checkReadings(run, header, words.powerMaxAge, Date.now());
      sink.say(renderCounts(footer.footer));
      if (footer.footer.nodes + footer.footer.ports > 0)
        await sink.confirm(`Load them into ${backend.shown}?`);
      const staged = words.staged || (await wasBegunStaged(run, footer.sha256, sink));
      const how = { header, seal, check: true, staged, unprotected: await unprotectedNodes(run) };
      const again = nextCommand("apply", words, { staged, yes: true });
      const { recheckPower } = words;
      const job = {
        run,
        plan,
        backend,
        seal,
        staged,
        readings,
        mappings,
        sink,
        again,
        recheckPower,
      };
      const beside = { ...words, confirm: sink.confirm, watching, lines };
      const leaves = blocked > 0 || (words.leaveNova && (await novaSteps(run, footer)) > 0);
      const loaded = await withSession(run, (session) =>
        besideNova(run, session, footer, beside, (nova) =>
          withIronic(run, session, backend, how, async (place) => {
            await rememberGiven(run, "apply", words);
            if (nova === null) sink.say(UNASKED);
            return load({ ...job, session, nova, place });
          }),
        ),
      );
      if (loaded === null) return null;
      const partial = leaves && (loaded.equal || loaded.failed > 0);
      if (partial) await listLeftOut(lines(), sink);
      return { ...loaded, again, partial: partial || loaded.failed > 0 };
    }),
  );
}

/** What a load was begun with, it goes on with: half of it live would be half of it taken over. */
async function wasBegunStaged(run: RunFolder, plan: string, { say }: Sink): Promise<boolean> {
  const staged = wasStaged((await readJournal(run)).entries, plan);
  if (staged) say("This load was begun with --staged, and goes on so.");
  return staged;
}

async function listLeftOut(
  lines: AsyncIterable<readonly PlannedMachine[]>,
  { told }: Sink,
): Promise<void> {
  for await (const batch of lines)
    for (const { verdict, uuid, bm_node_id, reason } of batch)
      if (verdict === "blocked" || verdict === "conflict")
        told(
          `Left out: ${uuid ?? "without uuid"} (bm_nodes.id=${bm_node_id}) ${verdict}: ${reason ?? ""}`,
        );
}
