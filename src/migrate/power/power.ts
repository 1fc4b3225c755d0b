import { resolve } from "node:path";
import { MigrationError, orNull } from "../../lib/error.ts";
import type { PowerCounts, PowerHeader } from "../../model/artefact.ts";
import { blank, ipmitoolOf, type PowerProbe, type PowerReading } from "../../model/power.ts";
import { createArtefact } from "../../run/files/artefact-writer.ts";
import { openPartial } from "../../run/files/partial.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { processContext } from "../../run/process-context.ts";
import { inRun, openPlan, openSnapshot, PLAN, SNAPSHOT, sealOf } from "../../run/run.ts";
import { saveOptions } from "../../run/saved-options.ts";
import type { Expect, Progress, Sink } from "../../run/sink.ts";
import { VERSION } from "../../run/version.ts";
import { askQuestions, openNative } from "../../systems/bmc/power-ask.ts";
import { NO_SITE } from "../mapping/cross-check.ts";
import { loadMappings } from "../open/documents.ts";
import { machinesOf } from "../plan/machine-finder.ts";
import { createMethods } from "../transform/power-query.ts";
import {
  askGuests,
  complete,
  newQueries,
  queriedMachines,
  questionsOf,
  type Selection,
  survey,
  validReadings,
} from "./bmc-targets.ts";
import { inOrder, openPower, POWER, put, type Readings, readingsOf } from "./power-file.ts";
import { live } from "./rules/gate.ts";

type Snapshot = Awaited<ReturnType<typeof openSnapshot>>;

/** Selection, credentials and rate of a power run, by option name. */
interface PowerRequest {
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
    const { release, site } = how.queriedFor;
    const newer = how.ipmitool === "1.8.19" ? "1.8.19 or later" : "1.8.18 or earlier";
    sink.report(
      `Reading BMCs in the same way as ${release}'s conductors with ipmitool ${newer}, with ${site ?? "no site document"}.`,
    );
    await saveOptions(run, "power", request);
    const { bmcAt, clock } = processContext();
    const probe = openNative(how.ipmitool, bmcAt, clock);
    const interrupt = processContext().onInterrupt();
    try {
      const { only = null, node: nodes = [], host: hosts = [] } = request;
      const schedule = { inFlight, startsPerSecond: rate, deadline: deadline * 1000 };
      const { signal } = interrupt;
      const job = { ...how, run, snapshot, seal, schedule, signal, ask: probe.ask };
      const done = await sink.during(
        "power",
        // Known after the run folder is read.
        undefined,
        (progress, expect) => askFleet(job, { only, nodes, hosts }, progress, expect),
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
  snapshot: Snapshot,
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

/** Reports readings, and failed machines that are queried once more. */
function watch(progress: Progress, before: Iterable<PowerReading>) {
  const verdicts = new Map<string, number>();
  const again = new Set<number>();
  let machines = 0;
  const count = ({ verdict, bm_node_ids }: PowerReading): void => {
    machines += bm_node_ids.length;
    verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + bm_node_ids.length);
  };
  for (const reading of before) count(reading);
  return {
    before: machines,
    read(reading: PowerReading): void {
      count(reading);
      for (const id of reading.bm_node_ids) again.delete(id);
      progress(machines, live(verdicts, again.size));
    },
    failed({ bm_node_ids }: PowerReading): void {
      for (const id of bm_node_ids) again.add(id);
      progress(machines, live(verdicts, again.size));
    },
  };
}

/**
 * Queries the machines of a snapshot. Each reading is saved at once, so a stopped run resumes.
 * power.jsonl is written when every machine has a reading.
 * @returns null if it was stopped
 */
async function askFleet(
  job: Awaited<ReturnType<typeof powerFor>> & {
    readonly run: RunFolder;
    readonly snapshot: Snapshot;
    readonly seal: Parameters<typeof questionsOf>[2];
    readonly schedule: Parameters<typeof askQuestions>[2]["schedule"] & {
      readonly deadline: number;
    };
    readonly signal: AbortSignal;
    readonly ask: PowerProbe;
  },
  selection: Selection,
  progress: Progress,
  expect: Expect,
) {
  const { run, snapshot, methodOf, ipmitool, queriedFor, seal, schedule, signal, ask } = job;
  const { sha256 } = snapshot.footer;
  const { only } = selection;
  // Whether only some machines are queried. Readings of the others are kept.
  const again = only !== null || selection.nodes.length > 0 || selection.hosts.length > 0;
  // A run of all machines ignores old readings, even if they are unreadable.
  const before = again ? await readingsOf(`${run.path}/${POWER}`) : null;
  if (only !== null && before === null)
    throw new MigrationError("N2I-E110", `${run.path}/${POWER} has no readings of this snapshot`, {
      fix: "Run power without --only. If it was stopped, it resumes.",
    });
  const facts = await survey(queriedMachines(snapshot.lines(), methodOf), selection);
  const readings: Readings = validReadings(before?.readings.values() ?? [], facts.digests);
  /** Whether the last reading of a machine selects it. */
  const isAgain = (id: number): boolean => {
    const verdict = readings.get(id)?.verdict ?? "failed";
    return only === null || only.includes(verdict) || (verdict !== "ok" && only.includes("failed"));
  };
  const selected = new Set(
    [...facts.digests.keys()].filter((id) => isAgain(id) && facts.ids.has(id)),
  );
  // A selection has its own file, to keep the readings of a stopped run of all machines.
  const name = again ? `${POWER}.again` : POWER;
  const about = `${sha256} ${JSON.stringify(selection)}`;
  const partial = await openPartial<PowerReading>(run, name, about);
  try {
    const saved = validReadings(partial.saved, facts.digests);
    for (const [id, reading] of saved) readings.set(id, reading);
    const isSelected = (id: number): boolean => selected.has(id) && !saved.has(id);
    const queries = newQueries();
    const watched = watch(progress, new Set(saved.values()));
    const keep = async (answer: PowerReading): Promise<void> => {
      const reading = complete(answer, queries, ipmitool);
      put(readings, reading);
      for (const id of reading.bm_node_ids) queries.methods.delete(id);
      watched.read(reading);
      await partial.add(reading);
    };
    const count = [...facts.digests.keys()].filter(
      (id) => saved.has(id) || selected.has(id),
    ).length;
    expect(count, watched.before);
    const machines = queriedMachines(snapshot.lines(), methodOf, isSelected);
    const questions = questionsOf(machines, facts.shared, seal, queries);
    const options = { signal, schedule, failed: watched.failed, clock: processContext().clock };
    for await (const reading of askQuestions(questions, ask, options)) await keep(reading);
    if (!signal.aborted)
      for await (const reading of askGuests(queries, { ...schedule, signal })) await keep(reading);
    await partial.sync();
    if (signal.aborted) return null;
    for (const { id, ...outcome } of queries.unread) {
      const machine = { bm_node_ids: [id], address: outcome.address };
      await keep(blank(machine, { date: new Date(), client: null }, outcome));
    }
    const header = { tool: VERSION, made_from: { snapshot: sha256 }, asked_for: queriedFor };
    const written = await writeReadings(run, header, readings);
    await partial.remove();
    return { readings, ...written };
  } finally {
    await partial.close();
  }
}

async function writeReadings(
  run: RunFolder,
  header: Omit<PowerHeader, "format">,
  readings: Readings,
) {
  const lines = inOrder(readings.values());
  const verdicts: Record<string, number> = {};
  for (const { verdict, bm_node_ids } of lines)
    verdicts[verdict] = (verdicts[verdict] ?? 0) + bm_node_ids.length;
  const times = lines.filter(({ client }) => client !== null).map(({ asked_at }) => asked_at);
  const oldest = times.sort()[0] ?? null;
  const counts: PowerCounts = { machines: readings.size, bmcs: lines.length, verdicts, oldest };
  const format = "nova2ironic/power@1";
  const writer = await createArtefact(run, POWER, { format, ...header });
  try {
    for (const line of lines) await writer.write(line);
    const { sha256 } = await writer.finish(counts);
    return { counts, sha256 };
  } catch (error) {
    await writer.abandon();
    throw error;
  }
}
