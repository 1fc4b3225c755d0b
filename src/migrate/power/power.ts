import { ipmitoolOf, type PowerReading } from "../../model/power.ts";
import { processContext } from "../../run/process-context.ts";
import { inRun, openSnapshot, SNAPSHOT, sealOf } from "../../run/run.ts";
import { saveOptions } from "../../run/saved-options.ts";
import type { Sink } from "../../run/sink.ts";
import { openNative } from "../../systems/bmc/power-ask.ts";
import { loadMappings } from "../open/documents.ts";
import { machinesOf } from "../plan/machine-finder.ts";
import { askFleet } from "./ask-bmcs.ts";
import { inOrder } from "./power-file.ts";
import { type PowerFor, powerFor } from "./power-for.ts";
import { live } from "./rules/gate.ts";

/** Selection, credentials and rate of a power run, by option name. */
export interface PowerRequest {
  readonly run: string;
  readonly only?: readonly string[];
  readonly node?: readonly string[];
  readonly host?: readonly string[];
  readonly site?: string;
  readonly ironicRelease?: string;
  readonly conductorIpmitool?: string;
  readonly inFlight: number;
  readonly rate: number;
  /** Seconds. */
  readonly deadline: number;
  /** Show every machine, not only those with problems. */
  readonly list: boolean;
  readonly keyFile?: string;
}

/** Reads each machine's power state as a conductor would. @returns null if it was stopped */
export async function power(request: PowerRequest, sink: Sink) {
  const { run: path, inFlight, rate, deadline, site, ironicRelease: release } = request;
  const ipmitool = ipmitoolOf(request.conductorIpmitool);
  return inRun(path, "power", { kind: "migration" }, async (run) => {
    const snapshot = await openSnapshot(`${run.path}/${SNAPSHOT}`);
    const seal = await sealOf(run, request.keyFile, snapshot.header.key);
    const whom = await powerFor(run, snapshot, await loadMappings(), { site, release, ipmitool });
    sink.report(conductorText(whom));
    await saveOptions(run, "power", request);
    const { bmcAt, clock } = processContext();
    const probe = openNative(whom.ipmitool, bmcAt, clock);
    const interrupt = processContext().onInterrupt();
    try {
      const { only = null, node: nodes = [], host: hosts = [] } = request;
      const schedule = { inFlight, startsPerSecond: rate, deadline: deadline * 1000 };
      const { signal } = interrupt;
      const done = await sink.during(
        "power",
        // Known after the run folder is read.
        undefined,
        (progress, expect) =>
          askFleet(
            run,
            snapshot,
            { only, nodes, hosts },
            { ...{ probe: probe.ask, schedule, signal, seal, whom, progress, expect } },
          ),
        (made) => (made === null ? "stopped" : live(Object.entries(made.counts.verdicts))),
      );
      if (done === null) return null;
      const read = inTrouble(done.readings.values(), request.list);
      const ids = new Set(read.listed.flatMap(({ bm_node_ids }) => bm_node_ids));
      return {
        ...{ counts: done.counts, sha256: done.sha256, ...read },
        machines: await machinesOf(snapshot, ids),
        /** extract had no nova.conf. */
        noConf: snapshot.header.hosts.length === 0,
      };
    } finally {
      interrupt.end();
      await probe.close();
    }
  });
}

/** The imitated conductor, printed before the first query. */
function conductorText({ queriedFor: { release, site }, ipmitool }: PowerFor): string {
  const newer = ipmitool === "1.8.19" ? "1.8.19 or later" : "1.8.18 or earlier";
  const decided = site === null ? "no site document" : site;
  return `Reading BMCs in the same way as ${release}'s conductors with ipmitool ${newer}, with ${decided}.`;
}

/** Readings that need attention, or all to show, ordered by their first machine. */
function inTrouble(all: Iterable<PowerReading>, list: boolean) {
  const readings = inOrder(all);
  const troubled = readings.filter(
    ({ verdict, advice, warnings }) => verdict !== "ok" || advice.length + warnings.length > 0,
  );
  /** Machines that answer only with an additional setting. */
  const advised = readings
    .filter(({ verdict, advice }) => verdict === "ok" && advice.length > 0)
    .reduce((count, { bm_node_ids }) => count + bm_node_ids.length, 0);
  return { listed: list ? readings : troubled, troubled, advised };
}
