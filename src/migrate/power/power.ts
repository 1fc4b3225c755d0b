import { resolve } from "node:path";
import { MigrationError, orNull } from "../../lib/error.ts";
import { ipmitoolOf, type PowerReading } from "../../model/power.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { processContext } from "../../run/process-context.ts";
import { inRun, openPlan, openSnapshot, PLAN, SNAPSHOT, sealOf } from "../../run/run.ts";
import { saveOptions } from "../../run/saved-options.ts";
import type { Sink } from "../../run/sink.ts";
import { openNative } from "../../systems/bmc/power-ask.ts";
import { NO_SITE } from "../mapping/site.ts";
import { loadMappings } from "../open/documents.ts";
import { machinesOf } from "../plan/machine-finder.ts";
import { createMethods } from "../transform/power-query.ts";
import { askFleet } from "./ask-bmcs.ts";
import { inOrder, openPower, POWER } from "./power-file.ts";
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
  const { run: path, inFlight, rate, deadline } = request;
  return inRun(path, "power", { kind: "migration" }, async (run) => {
    const snapshot = await openSnapshot(`${run.path}/${SNAPSHOT}`);
    const seal = await sealOf(run, request.keyFile, snapshot.header.key);
    const how = await powerFor(run, snapshot, request);
    sink.report(conductorText(how));
    await saveOptions(run, "power", request);
    const { bmcAt, clock } = processContext();
    const probe = openNative(how.ipmitool, bmcAt, clock);
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
            { ...how, probe: probe.ask, schedule, signal, seal, progress, expect },
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
function conductorText({
  queriedFor: { release, site },
  ipmitool,
}: Awaited<ReturnType<typeof powerFor>>): string {
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

/** The upgrade is defined from Juno to Juno. */
const RELEASE = "juno";

/**
 * Selects the conductors that the queries imitate: from this command, the run's last power, its
 * plan, or the default release. driver_info in a site document decides the address, and the release
 * decides which keys the conductor reads.
 */
async function powerFor(
  run: RunFolder,
  snapshot: Awaited<ReturnType<typeof openSnapshot>>,
  options: Pick<PowerRequest, "site" | "ironicRelease" | "conductorIpmitool">,
) {
  const mappings = await loadMappings();
  // Missing or unreadable files are ignored.
  const readings = await orNull(openPower(`${run.path}/${POWER}`));
  const last = readings?.header.asked_for;
  const plan = (await orNull(openPlan(`${run.path}/${PLAN}`)))?.header;
  // A plan with these readings and no site document used no other settings.
  const from = plan?.made_from;
  const isWithout = from?.site === null && from.power?.sha256 === readings?.footer.sha256;
  const releaseName = options.ironicRelease ?? plan?.target.release ?? last?.release ?? RELEASE;
  const release = mappings.releases.find(({ doc }) => doc.release === releaseName);
  if (release === undefined)
    throw new MigrationError("N2I-E100", `--ironic-release ${releaseName} is not a known release`);
  const ipmitool =
    ipmitoolOf(options.conductorIpmitool) ??
    plan?.conductor_ipmitool ??
    ipmitoolOf(last?.ipmitool ?? undefined);
  const file =
    options.site === undefined ? (isWithout ? null : (last?.site ?? null)) : resolve(options.site);
  const site = file === null ? NO_SITE : (await mappings.site(file)).site;
  const mapping = mappings.forRelease(release, site);
  const docs = mappings.releases.map(({ doc }) => doc);
  const { hosts, columns } = snapshot.header;
  return {
    methodOf: createMethods(mapping, docs, hosts, columns),
    ipmitool: ipmitool ?? release.doc.ipmitool,
    queriedFor: { release: release.doc.release, ipmitool: ipmitool ?? null, site: file },
  };
}
