import { MigrationError } from "../../lib/error.ts";
import type { Schedule } from "../../lib/ipmi/index.ts";
import type { PowerCounts, PowerHeader } from "../../model/artefact.ts";
import {
  blank,
  type ConductorIpmitool,
  type PowerProbe,
  type PowerReading,
} from "../../model/power.ts";
import type { Seal } from "../../model/secret.ts";
import { createArtefact } from "../../run/files/artefact-writer.ts";
import { openPartial } from "../../run/files/partial.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { processContext } from "../../run/process-context.ts";
import type { openSnapshot } from "../../run/run.ts";
import type { Expect, Progress } from "../../run/sink.ts";
import { VERSION } from "../../run/version.ts";
import { askQuestions } from "../../systems/bmc/power-ask.ts";
import type { MethodOf } from "../transform/power-query.ts";
import {
  askGuests,
  complete,
  newQueries,
  queriedMachines,
  questionsOf,
  survey,
  validReadings,
} from "./bmc-targets.ts";
import { inOrder, POWER, put, type Readings, readingsOf } from "./power-file.ts";
import { live } from "./rules/gate.ts";

/** Machines to query: all without a reading, failed ones or named ones. */
interface Selection {
  /** Verdicts of their last readings, or `failed` for all except ok. */
  readonly only: readonly string[] | null;
  readonly nodes: readonly string[];
  /** service_host of their nova-computes. */
  readonly hosts: readonly string[];
}

/** Selected bm_nodes.ids. Null: all. @throws MigrationError N2I-E306 for an unknown name */
async function idsOf(
  snapshot: Awaited<ReturnType<typeof openSnapshot>>,
  { nodes, hosts }: Selection,
): Promise<ReadonlySet<number> | null> {
  if (nodes.length === 0 && hosts.length === 0) return null;
  const requested = new Set(nodes.map((text) => text.toLowerCase()));
  const unfound = new Set([...requested, ...hosts]);
  const found = new Set<number>();
  for await (const batch of snapshot.lines())
    for (const line of batch) {
      if ("orphan" in line) continue;
      const { id, uuid, service_host } = line.node;
      const names = [String(id), uuid?.toLowerCase() ?? ""].filter((name) => requested.has(name));
      const host = hosts.includes(service_host ?? "") ? [service_host ?? ""] : [];
      for (const found of [...names, ...host]) unfound.delete(found);
      if ((nodes.length === 0 || names.length > 0) && (hosts.length === 0 || host.length > 0))
        found.add(id);
    }
  if (unfound.size > 0)
    throw new MigrationError(
      "N2I-E306",
      `${[...unfound].map((name) => JSON.stringify(name)).join(", ")} is not in the snapshot`,
    );
  return found;
}

interface Asking {
  readonly probe: PowerProbe;
  readonly schedule: Partial<Schedule>;
  readonly signal: AbortSignal;
  readonly seal: Seal;
  readonly methodOf: MethodOf;
  readonly ipmitool: ConductorIpmitool;
  readonly queriedFor: NonNullable<PowerHeader["asked_for"]>;
  readonly progress: Progress;
  readonly expect: Expect;
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
export async function askFleet(
  run: RunFolder,
  snapshot: Awaited<ReturnType<typeof openSnapshot>>,
  selection: Selection,
  asking: Asking,
) {
  const { sha256 } = snapshot.footer;
  const { methodOf, ipmitool, queriedFor, schedule, signal } = asking;
  const { only } = selection;
  // Whether only some machines are queried. Readings of the others are kept.
  const again = only !== null || selection.nodes.length > 0 || selection.hosts.length > 0;
  // A run of all machines ignores old readings, even if they are unreadable.
  const before = again ? await readingsOf(`${run.path}/${POWER}`) : null;
  if (only !== null && before === null)
    throw new MigrationError("N2I-E110", `${run.path}/${POWER} has no readings of this snapshot`, {
      fix: "Run power without --only. If it was stopped, it resumes.",
    });
  const facts = await survey(snapshot.lines(), methodOf);
  const readings: Readings = validReadings(before?.readings.values() ?? [], facts.digests);
  const selectedIds = await idsOf(snapshot, selection);
  /** Whether the last reading of a machine selects it. */
  const isAgain = (id: number): boolean => {
    const verdict = readings.get(id)?.verdict ?? "failed";
    return only === null || only.includes(verdict) || (verdict !== "ok" && only.includes("failed"));
  };
  const settled = new Set([...facts.digests.keys()].filter((id) => !isAgain(id)));
  // A selection has its own file, to keep the readings of a stopped run of all machines.
  const name = again ? `${POWER}.again` : POWER;
  const about = `${sha256} ${JSON.stringify(selection)}`;
  const partial = await openPartial<PowerReading>(run, name, about);
  try {
    const saved = validReadings(partial.saved, facts.digests);
    for (const [id, reading] of saved) readings.set(id, reading);
    const isSelected = (id: number): boolean =>
      !saved.has(id) && !settled.has(id) && (selectedIds === null || selectedIds.has(id));
    const queries = newQueries();
    const watched = watch(asking.progress, new Set(saved.values()));
    const keep = async (answer: PowerReading): Promise<void> => {
      const reading = complete(answer, queries, ipmitool);
      put(readings, reading);
      for (const id of reading.bm_node_ids) queries.methods.delete(id);
      watched.read(reading);
      await partial.add(reading);
    };
    const count = [...facts.digests.keys()].filter((id) => saved.has(id) || isSelected(id)).length;
    asking.expect(count, watched.before);
    const machines = queriedMachines(snapshot.lines(), methodOf, isSelected);
    const questions = questionsOf(machines, facts.shared, asking.seal, queries);
    const options = { signal, schedule, failed: watched.failed, clock: processContext().clock };
    for await (const reading of askQuestions(questions, asking.probe, options)) await keep(reading);
    if (!signal.aborted)
      for await (const reading of askGuests(queries, { ...schedule, signal })) await keep(reading);
    await partial.sync();
    if (signal.aborted) return null;
    for (const { id, ...outcome } of queries.unread) {
      const machine = { bm_node_ids: [id], address: outcome.address };
      await keep(blank(machine, { date: new Date(), client: null }, outcome));
    }
    const header: PowerHeader = {
      ...({ format: "nova2ironic/power@1", tool: VERSION } as const),
      ...{ made_from: { snapshot: sha256 }, asked_for: queriedFor },
    };
    const written = await writeReadings(run, header, readings);
    await partial.remove();
    return { readings, ...written };
  } finally {
    await partial.close();
  }
}

async function writeReadings(run: RunFolder, header: PowerHeader, readings: Readings) {
  const lines = inOrder(readings.values());
  const verdicts: Record<string, number> = {};
  for (const { verdict, bm_node_ids } of lines)
    verdicts[verdict] = (verdicts[verdict] ?? 0) + bm_node_ids.length;
  const times = lines.filter(({ client }) => client !== null).map(({ asked_at }) => asked_at);
  const oldest = times.sort()[0] ?? null;
  const counts: PowerCounts = { machines: readings.size, bmcs: lines.length, verdicts, oldest };
  const writer = await createArtefact(run, POWER, header);
  try {
    for (const line of lines) await writer.write(line);
    const { sha256 } = await writer.finish(counts);
    return { counts, sha256 };
  } catch (error) {
    await writer.abandon();
    throw error;
  }
}
