import { logFaults } from "../../core/handover/log-faults.ts";
import { lacking } from "../../core/handover/needs.ts";
import {
  isHandedOver,
  type Lacks,
  noStandings,
  observe,
  observedOf,
} from "../../core/handover/observe.ts";
import type { Database } from "../../edge/database/open.ts";
import { createHandover } from "../../edge/ironic-db/handover.ts";
import { heldFields } from "../../edge/ironic-db/held.ts";
import { identifyTarget } from "../../edge/ironic-db/open.ts";
import { checkLog, linesOf } from "../../edge/log/scan.ts";
import { MigrationError } from "../../model/error.ts";
import type { Json } from "../../model/json.ts";
import type { Release } from "../../model/target.ts";
import { plannedNodes } from "../../parts/hand-over.ts";
import { standingsView } from "../../report/standings.ts";
import { openRole } from "../../stages/databases.ts";
import type { Mappings } from "../../stages/documents.ts";
import { checkIdentity } from "../../stages/ironic-place.ts";
import { nothingLoads } from "../../stages/nothing.ts";
import type { openPlan } from "../../stages/run.ts";
import { printView } from "../print/view.ts";
import { note, type Telling } from "./shared.ts";

interface Args extends Telling {
  readonly ironicDb?: string;
  readonly allRows: boolean;
  readonly conductorLog?: readonly string[];
}

/** Faults of a log that are listed; the others are counted. */
const LISTED = 20;

/**
 * Looks once where each machine stands, what it lacks, and what the conductors' logs complain of;
 * prints what is not as it should be. Only the database tells who took a machine over: REST tells
 * who should have it.
 *
 * @returns whether there is nothing left to wait for or to do
 * @throws MigrationError N2I-E100, N2I-E105, N2I-E326 where no machine is to be looked at
 */
export async function verifyTakeover(
  plan: Awaited<ReturnType<typeof openPlan>>,
  mappings: Mappings,
  args: Args,
): Promise<boolean> {
  if (args.ironicDb === undefined)
    throw new MigrationError("N2I-E100", "--takeover needs --ironic-db");
  const logs = (args.conductorLog ?? []).map(placeOf);
  for (const { path } of logs) await checkLog(path);
  const database = await openRole("ironic-db", args.ironicDb, { readOnly: true });
  try {
    const { target } = plan.header;
    const { identity, release } = await identifyTarget(database, mappings, target.release);
    checkIdentity(target, identity);
    const tally = noStandings();
    const nodes = plannedNodes(plan.lines(), () => true);
    const handover = createHandover(database, release);
    const lacks = lacksIn(database, release);
    await printView(standingsView(observe(nodes, handover, tally, args.allRows, lacks)), args);
    const { done, waiting, staged, held, failed, missing } = tally;
    note(
      args,
      `Take-over: ${done} handed over, ${waiting} waiting, ${staged} staged, ` +
        `${held} held by the plan, ${failed} failed, ${missing} missing.`,
    );
    if (observedOf(tally) === 0) throw nothingLoads(plan.footer.footer);
    const faults = await printFaults(logs, args);
    return isHandedOver(tally) && faults === 0;
  } finally {
    await database.close();
  }
}

function lacksIn(database: Database, release: Release): Lacks {
  return async (batch) => {
    const held = await heldFields(
      database,
      release,
      batch.map(({ uuid }) => uuid),
    );
    return new Map(
      batch.map(({ uuid, row, root }) => [
        uuid,
        lacking(release.doc, row, root ?? null, held.get(uuid) ?? new Set()),
      ]),
    );
  };
}

/** Prints a row for each fault of the logs; gives how many there are. */
async function printFaults(logs: readonly Place[], format: Telling): Promise<number> {
  if (logs.length === 0) return 0;
  let count = 0;
  const rows = async function* (): AsyncGenerator<readonly Json[]> {
    for (const { path, from } of logs) {
      let own = 0;
      for await (const { line, text } of logFaults(linesOf(path, from))) {
        own += 1;
        if (own <= LISTED) yield [`${path}:${line}`, text];
      }
      count += own;
    }
  };
  await printView({ columns: ["Conductor Log", "Says"], rows: rows() }, format);
  note(
    format,
    `Logs: ${count} faults in ${logs.length === 1 ? "1 log" : `${logs.length} logs`}` +
      `${count > 0 ? "; once looked at, go on behind them: --conductor-log FILE:LINE" : ""}.`,
  );
  return count;
}

interface Place {
  readonly path: string;
  /** The first line that is looked at. */
  readonly from: number;
}

/** `FILE`, or `FILE:LINE` to begin there. */
function placeOf(log: string): Place {
  const [, path = log, line = "1"] = /^(.+):([1-9]\d{0,9})$/s.exec(log) ?? [];
  return { path, from: Number(line) };
}
