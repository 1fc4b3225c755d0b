import { basename } from "node:path";
import { orNull } from "../../lib/error.ts";
import { textOrNull } from "../../lib/json.ts";
import { counted } from "../../lib/text.ts";
import { novaPlanOf } from "../../migrate/hosts/nova-files.ts";
import { loadMappings } from "../../migrate/open/documents.ts";
import { loadable } from "../../migrate/plan/empty-plan.ts";
import type { Footer, PlanCounts } from "../../model/artefact.ts";
import type { Finding } from "../../model/findings.ts";
import type { Machine } from "../../model/machine.ts";
import { type NovaStep, stepsOf } from "../../model/nova/nova-plan.ts";
import { nodeOf, type Origins, type PlannedMachine } from "../../model/plan.ts";
import { readJournal } from "../../run/files/journal.ts";
import { openRun, type RunFolder } from "../../run/files/run-folder.ts";
import { checkKind } from "../../run/files/run-kind.ts";
import { nextCommand } from "../../run/next.ts";
import { openPlan, openSnapshot, PLAN, SNAPSHOT } from "../../run/run.ts";
import type { Sink } from "../../run/sink.ts";
import { VERSION } from "../../run/version.ts";
import { paceOfRun } from "../handover/conductor-pace.ts";
import { takeOversOf } from "../handover/hand-over.ts";
import { createHandover, runState } from "../runner/run-state.ts";
import { measuredOf } from "./history.ts";
import { STATIC_ROWS } from "./page/data.ts";
import { createTotals, judge } from "./rules/tally.ts";
import { nightOf, plannedWindow } from "./rules/window.ts";

type Snapshot = Awaited<ReturnType<typeof openSnapshot>>;

export interface Reported {
  readonly machine: ReturnType<typeof machineOf>;
  readonly planned: PlannedMachine;
}

type Machines = AsyncIterable<readonly Reported[]>;

/** The report without its machines, which are streamed. */
export type ReportFacts = Awaited<ReturnType<typeof report>>["facts"];

/**
 * Reads a run's files, but no database.
 * @param take receives every machine in plan order, before other facts are known
 * @throws MigrationError N2I-E110 to N2I-E115
 */
export async function report(
  options: { readonly run: string; readonly window?: string },
  sink: Sink,
  take: ((run: RunFolder, machines: Machines, origins: Origins) => Promise<void>) | null,
) {
  const window = options.window === undefined ? null : plannedWindow(options.window);
  const run = await openRun(options.run, { create: false });
  await checkKind(run, { kind: "migration" }, "report");
  const plan = await openPlan(`${run.path}/${PLAN}`);
  const snapshot = await orNull(openSnapshot(`${run.path}/${SNAPSHOT}`), "N2I-E110");
  const fresh = plan.header.made_from.snapshot === snapshot?.footer.sha256;
  const counts = plan.footer.footer;
  const { origins } = plan.header;
  const { entries } = await readJournal(run);
  const tally = createTotals();
  const handover = createHandover(plan.footer.sha256, entries);
  const [trouble, fine]: [Reported["machine"][], Reported["machine"][]] = [[], []];
  let takeOvers = 0;
  await sink.during(
    "report",
    counts.machines,
    async (progress) => {
      let completed = 0;
      async function* machines() {
        const read = take !== null && fresh && snapshot !== null;
        for await (const batch of reported(plan.lines(), read ? snapshot : null)) {
          for (const { planned, machine } of batch) {
            tally.add(planned);
            takeOvers += takeOversOf(planned);
            handover?.add(planned);
            const isFine = ["create", "unchanged", "skipped"].includes(machine.verdict);
            const list = isFine ? fine : trouble;
            if (list.length < STATIC_ROWS) list.push(machine);
          }
          completed += batch.length;
          progress(completed);
          yield batch;
        }
      }
      if (take === null) for await (const _ of machines());
      else await take(run, machines(), origins);
    },
    () => `${counted(counts.machines, "machine")}`,
  );
  const totals = tally.end(counts);
  const nova = await novaTotals(run, plan.footer);
  const measured = await measuredOf(run.path, entries);
  const handed = handover?.end() ?? null;
  const { fields, next, excluded, status, back } = await runState(run, options, handed);
  const facts = {
    ...{ run: basename(run.path), at: new Date().toISOString(), tool: VERSION },
    plan: {
      ...{ header: plan.header, counts, sha256: plan.footer.sha256 },
      taken_at: fresh ? (snapshot?.header.taken_at ?? null) : null,
    },
    verdict: judge({ header: plan.header, counts, totals, nova, fresh, status }),
    ...{ totals, nova, ran: measured.ran, state: fields, next: [next, ...excluded].join("; ") },
    window,
    night: nightOf({
      ...{ machines: loadable(counts), takeOvers },
      rows: counts.nodes + counts.ports + (nova === null ? 0 : stepsOf(nova.counts)),
      stopped: nova?.counts.stopped ?? [],
      ...(await paceOfRun(run.path)),
      ...{ ...(await takeOverOf(plan.header.target.release)), measured },
    }),
    undo: [
      ...back.map(({ command, ...of }) => nextCommand(command, options, { ...of, undo: true })),
      nextCommand("rollback", options, { all: true, plan: true }),
      nextCommand("rollback", options, { all: true }),
    ],
  };
  // Some machines, those that need attention first.
  return { facts, first: [...trouble, ...fine].slice(0, STATIC_ROWS) };
}

/** Whether a release's takeover edits boot files, and whether it supports staging. */
async function takeOverOf(name: string): Promise<{ boots: boolean; staged: boolean }> {
  const { releases } = await loadMappings();
  const release = releases.find(({ doc }) => doc.release === name);
  const staged = release?.node.some((column) => column.name === "maintenance_reason") ?? true;
  return { boots: release?.doc.boot === "deploy", staged };
}

async function novaTotals(run: RunFolder, plan: Footer<PlanCounts>) {
  const files = await novaPlanOf(run, plan);
  if (files === null) return null;
  const groups = new Map<string, ReturnType<typeof groupOf> & { readonly rows: number }>();
  for await (const batch of files.all())
    for (const step of batch) {
      const group = groupOf(step);
      const key = JSON.stringify(group);
      groups.set(key, { ...group, rows: (groups.get(key)?.rows ?? 0) + 1 });
    }
  const findings: Finding[] = [];
  for await (const batch of files.findings())
    findings.push(...batch.slice(0, Math.max(0, 50 - findings.length)));
  return { ...{ counts: files.counts, findings }, groups: [...groups.values()] };
}

/** Groups steps of one table with the same changed columns, or for flavors, steps of one flavor. */
function groupOf({ table, part, before, after, of }: NovaStep) {
  const row = after ?? before ?? {};
  const changed = Object.keys(row).filter(
    (column) => before === null || after === null || before[column] !== after[column],
  );
  return {
    table,
    change: before === null ? "create" : after === null ? "delete" : "update",
    what: part === "hosts" ? changed.join(", ") : `${of}: ${String(row.key ?? changed.join(", "))}`,
  } as const;
}

/** Machines of the plan with their facts from the snapshot, both in the same order. */
async function* reported(
  plan: AsyncIterable<readonly PlannedMachine[]>,
  snapshot: Snapshot | null,
): AsyncGenerator<readonly Reported[]> {
  const source = snapshot === null ? null : machinesIn(snapshot);
  /** Reads the snapshot up to the machine with this id. */
  const find = async (id: number): Promise<Machine | null> => {
    for (;;) {
      const { value } = (await source?.next()) ?? {};
      if (!value || value.node.id === id) return value ?? null;
    }
  };
  try {
    for await (const batch of plan) {
      const made: Reported[] = [];
      for (const planned of batch)
        made.push({ planned, machine: machineOf(planned, await find(planned.bm_node_id)) });
      yield made;
    }
  } finally {
    await source?.return(undefined);
  }
}

async function* machinesIn(snapshot: Snapshot): AsyncGenerator<Machine, void> {
  for await (const batch of snapshot.lines())
    for (const line of batch) if (!("orphan" in line)) yield line;
}

function machineOf(planned: PlannedMachine, source: Machine | null) {
  const { bm_node_id, uuid, verdict, service_host, reason, findings } = planned;
  const node = source?.node;
  const row = nodeOf(planned.records);
  const instance_uuid = row?.instance_uuid ?? node?.instance_uuid ?? null;
  return {
    ...{ bm_node_id, uuid, verdict, host: service_host, reason },
    address: node?.pm_address ?? null,
    instance: source?.nova?.instance?.display_name ?? node?.instance_name ?? null,
    instance_uuid: textOrNull(instance_uuid),
    codes: [...new Set(findings.map(({ code }) => code))],
  };
}
