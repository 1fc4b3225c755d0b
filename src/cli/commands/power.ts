import { MigrationError } from "../../model/error.ts";
import type { PowerReading } from "../../model/power.ts";
import { live, words } from "../../report/power.ts";
import { loadMappings } from "../../stages/documents.ts";
import { rememberGiven } from "../../stages/given-file.ts";
import { nextCommand } from "../../stages/next.ts";
import { askFleet } from "../../stages/power.ts";
import { type PowerFor, powerFor } from "../../stages/power-for.ts";
import { openProbe } from "../../stages/probe.ts";
import { inRun, openSnapshot, SNAPSHOT, sealOf } from "../../stages/run.ts";
import { onInterrupt } from "../interrupt.ts";
import type { PowerArgs } from "../options/power.ts";
import { ipmitoolOf } from "./power-options.ts";
import { reportPower } from "./power-report.ts";
import { inStage, say } from "./shared.ts";

export async function powerCommand(args: PowerArgs): Promise<void> {
  if (!(args.inFlight >= 1 && args.inFlight <= 512 && args.rate > 0 && args.deadline > 0))
    throw new MigrationError(
      "N2I-E100",
      "--in-flight is from 1 to 512, --rate and --deadline more than 0",
    );
  const ipmitool = ipmitoolOf(args.conductorIpmitool);
  await inRun(args.run, "power", { create: false }, async (run) => {
    const snapshot = await openSnapshot(`${run.path}/${SNAPSHOT}`);
    const seal = await sealOf(run, args.keyFile, snapshot.header.key);
    const { site, ironicRelease: release } = args;
    const whom = await powerFor(run, snapshot, await loadMappings(), { site, release, ipmitool });
    const { askedFor } = whom;
    say(args, forWords(askedFor, whom.ipmitool));
    await rememberGiven(run, "power", args);
    const probe = openProbe(args.ipmiClient, whom.ipmitool);
    const interrupt = onInterrupt();
    const verdicts = new Map<string, number>();
    try {
      const done = await inStage(
        "power",
        // It is known when the run folder was looked at.
        undefined,
        args,
        (at, expect) => {
          let machines = 0;
          const again = new Set<number>();
          const count = ({ verdict, bm_node_ids }: PowerReading): void => {
            machines += bm_node_ids.length;
            verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + bm_node_ids.length);
          };
          return askFleet(
            run,
            snapshot,
            { only: args.only ?? null, nodes: args.node ?? [], hosts: args.host ?? [] },
            {
              probe: probe.ask,
              schedule: {
                inFlight: args.inFlight,
                startsPerSecond: args.rate,
                deadline: args.deadline * 1000,
              },
              signal: interrupt.signal,
              seal,
              ways: whom.ways,
              for: askedFor,
              ipmitool: whom.ipmitool,
              each: (reading) => {
                count(reading);
                for (const id of reading.bm_node_ids) again.delete(id);
                at(machines, live(verdicts, again.size));
              },
              again: ({ bm_node_ids }) => {
                for (const id of bm_node_ids) again.add(id);
                at(machines, live(verdicts, again.size));
              },
              expect: (total, before) => {
                before.forEach(count);
                expect(total, machines);
              },
            },
          );
        },
        (result) => (result === null ? "stopped" : words(Object.entries(result.counts.verdicts))),
      );
      if (done === null)
        return say(args, `Stopped on request. Next: ${nextCommand("power", args)}`);
      await reportPower(args, snapshot, done, askedFor.site);
    } finally {
      interrupt.end();
      await probe.close();
    }
  });
}

/** Whose questions are asked, before the first is. */
function forWords({ release, site }: PowerFor["askedFor"], ipmitool: string): string {
  const newer = ipmitool === "1.8.19" ? "1.8.19 or later" : "1.8.18 or earlier";
  const decided = site === null ? "no site document" : site;
  return `Asking as ${release}'s conductors with ipmitool ${newer} will; ${decided}.`;
}
