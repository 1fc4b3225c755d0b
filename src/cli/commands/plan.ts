import { NO_SITE } from "../../core/mapping/site.ts";
import {
  renderCounts,
  renderFinding,
  renderFindingCounts,
  renderHeader,
  renderNovaCounts,
} from "../../core/render/summary.ts";
import { readJournal } from "../../edge/disk/journal.ts";
import { removePlans } from "../../edge/disk/plan-folder.ts";
import { EXIT_STATUS } from "../../model/exit.ts";
import { plansNamed } from "../../model/journal.ts";
import { createLines } from "../../report/plan-lines.ts";
import { openBackend } from "../../stages/backend.ts";
import { othersAt } from "../../stages/check-others.ts";
import { loadMappings } from "../../stages/documents.ts";
import { type FlavorApi, openFlavorApi } from "../../stages/flavor-api.ts";
import { rememberGiven } from "../../stages/given-file.ts";
import { identified } from "../../stages/images.ts";
import { nextCommand } from "../../stages/next.ts";
import { habitsOf, openBeside, planNova } from "../../stages/nova-plan.ts";
import { novaOptions } from "../../stages/nova-words.ts";
import { makePlan } from "../../stages/plan.ts";
import { viewOf } from "../../stages/power.ts";
import { POWER, readingsOf } from "../../stages/power-file.ts";
import { openProposal, writeProposal } from "../../stages/propose.ts";
import { inRun, openPlan, openSnapshot, PLAN, SNAPSHOT, sealOf } from "../../stages/run.ts";
import type { PlanArgs } from "../options/plan.ts";
import { novaAsked } from "./nova-options.ts";
import { ipmitoolOf } from "./power-options.ts";
import { exitWith, inStage, print, say } from "./shared.ts";
import { printDiff } from "./show.ts";

export async function planCommand(args: PlanArgs): Promise<void> {
  const wanted = novaAsked(args);
  const ipmitool = ipmitoolOf(args.conductorIpmitool);
  const rows = await inRun(args.run, "plan", { create: false }, async (run) => {
    const snapshot = await openSnapshot(`${run.path}/${SNAPSHOT}`);
    const seal = await sealOf(run, args.keyFile, snapshot.header.key);
    const mappings = await loadMappings();
    const site =
      args.site === undefined ? { site: NO_SITE, sha256: null } : await mappings.site(args.site);
    const backend = await openBackend(args, mappings, { readOnly: true }, (text) =>
      say(args, text),
    );
    const beside = await openBeside(args.novaDb).catch(async (error: unknown) => {
      await backend.close();
      throw error;
    });
    let api: FlavorApi | null = null;
    try {
      const { target, release } = await backend.open(args.ironicRelease, seal, { planning: true });
      const { entries } = await readJournal(run);
      const lines = createLines();
      const asked = await readingsOf(`${run.path}/${POWER}`);
      const power = {
        view: viewOf(asked?.readings ?? null, args.maxUnreachable, args.recordPower),
        made_from: asked === null ? null : { sha256: asked.sha256, oldest: asked.counts.oldest },
      };
      const proposal = await openProposal(args, release.doc, power.view.readings);
      const images = wanted === null ? null : await identified(wanted.flavors.images, args);
      api = beside === null ? null : await openFlavorApi(args, true);
      const nova =
        beside === null || images === null || wanted === null
          ? null
          : await planNova(
              beside,
              snapshot.header,
              site.site,
              { ...wanted, flavors: { ...wanted.flavors, images } },
              habitsOf(release.doc.release),
              new Date().toISOString(),
              api,
            );
      await rememberGiven(run, "plan", args, true);
      const planned = await inStage(
        "plan",
        snapshot.footer.footer.machines,
        args,
        (at) =>
          makePlan(
            run,
            snapshot,
            target,
            release,
            mappings,
            site,
            backend.same(seal),
            { pairing: args.allowPairing, others: args.besideOthers, ipmitool },
            power,
            (line, machine) => {
              lines.add(line);
              proposal?.add(line, machine);
            },
            at,
            nova,
          ),
        ({ counts }) => `${counts.machines} machines`,
      );
      // A plan that was applied stays readable under its digest: rollback needs its lines.
      await removePlans(run, plansNamed(entries));
      await rememberGiven(run, "plan", args);
      print(
        [
          renderHeader(planned.header, planned.conductors),
          ...lines.text(),
          ...planned.late.map(renderFinding),
          ...renderFindingCounts(planned.counts.findings),
          renderCounts(planned.counts),
          ...(planned.nova === null ? [] : [renderNovaCounts(planned.nova)]),
        ].join("\n"),
      );
      if (args.diff !== undefined) await diffOf(`${run.path}/${PLAN}`, args.diff, args.all);
      const proposed = proposal === null ? null : writeProposal(args, proposal.text());
      if (proposed !== null) say(args, proposed);
      const others = args.besideOthers ? null : await othersAt(run, backend, target, entries);
      if (others !== null)
        say(args, `${others}: apply will refuse; plan --beside-others allows it.`);
      if (planned.nova === null)
        say(
          args,
          "No Nova database was given: apply will refuse (N2I-E311) unless you pass --leave-nova. With plan --nova-db, apply watches the heartbeats of nova-compute.",
        );
      say(
        args,
        `Saved ${run.path}/${PLAN} (sha256 ${planned.sha256.slice(0, 12)}). Valid while source and target stay unchanged.\nNext: ${nextCommand("apply", args, planned.nova === null ? {} : novaOptions(api?.identity))}`,
      );
      const { nodes, ports } = planned.counts;
      return (
        nodes +
        ports +
        (planned.nova?.hosts ?? 0) +
        (planned.nova?.flavors ?? 0) +
        (planned.nova?.api ?? 0)
      );
    } finally {
      await api?.close();
      await beside?.close();
      await backend.close();
    }
  });
  if (args.detailedExitcode && rows > 0) exitWith(EXIT_STATUS.differs.status);
}

async function diffOf(path: string, node: string, all: boolean): Promise<void> {
  const { header, lines } = await openPlan(path);
  await printDiff({ origins: header.origins, lines }, node, all);
}
