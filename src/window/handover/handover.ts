import type { Direction } from "../../engine/part.ts";
import { type Ending, runWindow, type WindowSession } from "../../engine/window.ts";
import { ONE_BY_ONE, type Pace } from "../../engine/window-part.ts";
import { logFaults } from "../../lib/quotes.ts";
import { counted } from "../../lib/text.ts";
import { checkIdentity, checkReasons } from "../../migrate/apply/parts.ts";
import { loadMappings } from "../../migrate/open/documents.ts";
import { STOPPED } from "../../migrate/order.ts";
import { loadable, nothingLoads } from "../../migrate/plan/empty-plan.ts";
import {
  acceptLogs,
  keepVerified,
  openToVerify,
  type VerifyRequest,
} from "../../migrate/verify/verify.ts";
import { HAND_OVER, type Handover, type Trouble } from "../../model/handover.ts";
import { closing, openRole } from "../../run/databases.ts";
import { checkWindow } from "../../run/files/window-file.ts";
import { checkNotFinished } from "../../run/finished.ts";
import { inRun, openPlan, PLAN } from "../../run/run.ts";
import { saveOptions } from "../../run/saved-options.ts";
import { selectionOf } from "../../run/scope.ts";
import { listFaults, logsAt } from "../../run/service-logs.ts";
import { withLocked } from "../../run/session.ts";
import type { Progress, Sink } from "../../run/sink.ts";
import { lockTarget } from "../../systems/database/target-lock.ts";
import { fieldNames } from "../../systems/ironic-db/current.ts";
import { createHandover } from "../../systems/ironic-db/handover.ts";
import { identifyTarget } from "../../systems/ironic-db/open.ts";
import { follow } from "../../systems/logs/scan.ts";
import { type HandOverPosition, handOverPart, plannedNodes, restagePart } from "./hand-over.ts";
import { isHandedOver, missingKeys, noStates, observe, type PlannedNode } from "./rules/judge.ts";
import { createConductorHealth, type Log } from "./rules/successors.ts";

interface HandoverOptions {
  readonly run: string;
  readonly ironicDb: string;
  readonly node?: readonly string[];
  readonly conductorLog?: readonly string[];
  readonly undo: boolean;
  readonly lockWait: number;
  readonly afterFinish: boolean;
}

export function handover(options: HandoverOptions, pace: Pace, sink: Sink) {
  const { undo, node = [], lockWait, conductorLog = [] } = options;
  return inRun(options.run, "handover", { kind: "migration" }, (run) =>
    closing(async (keep) => {
      if (undo) await checkNotFinished(run, "tenants' machines would be in maintenance", options);
      const plan = await openPlan(`${run.path}/${PLAN}`);
      const counts = plan.footer.footer;
      if (!undo && loadable(counts) === 0) throw nothingLoads(counts);
      const isSelected = await selectionOf(node, plan.lines);
      const mappings = await loadMappings();
      const database = keep(await openRole("ironic-db", options.ironicDb, { readOnly: false }));
      const which = options.node === undefined ? "the staged machines" : node.join(", ");
      await checkWindow(run, "handover");
      await sink.confirm(`${undo ? "Stage again" : "Hand over"} ${which} of ${database.label}?`);
      const { target } = plan.header;
      const { identity, release: found } = await identifyTarget(database, mappings, target.release);
      checkIdentity(target, identity);
      checkReasons(found);
      const logs: Awaited<ReturnType<typeof follow>>[] = [];
      // An unreadable log is reported before the run is written. Logs are read from their end, even
      // if verify starts at a line.
      for (const { path } of await logsAt(conductorLog)) logs.push(keep(await follow(path)));
      const handing = { handover: createHandover(database, found), logs };
      return withLocked(run, await lockTarget(database), HAND_OVER, identity, async (session) => {
        if (!undo) await saveOptions(run, "handover", options);
        const nodes = plannedNodes(plan.lines(), isSelected);
        const made = await sink.during(
          undo ? "stage" : "handover",
          options.node === undefined ? loadable(counts) : undefined,
          (progress) => {
            const releasing = { ...session, ...handing, progress };
            return undo
              ? release("back", nodes, releasing, { ...ONE_BY_ONE, lockWait: lockWait * 1000 })
              : release("forward", nodes, releasing, pace);
          },
          undo
            ? ({ made: machines }) => `${counted(machines, "machine")} staged again`
            : ({ made: machines, done }) =>
                `${counted(machines, "machine")} released, ${done} handed over`,
        );
        sink.result(handedText(made, undo));
        for (const notice of made.notices) sink.report(`Notice: ${notice}.`);
        if (made.stopped) sink.report(STOPPED);
        return made;
      });
    }),
  );
}

function handedText(handed: HandedOver, undo: boolean): string {
  const { made, done, waiting, inMaintenance, trouble, noted } = handed;
  if (undo)
    return `Handover undone: ${counted(made, "machine")} staged again, ${trouble.length} left.`;
  const before = handed.before > 0 ? `, ${handed.before} of them before` : "";
  const errors = noted.length > 0 ? `; of ${noted.length} a conductor reports an error` : "";
  const rate = handed.perMinute === null ? "" : `; ${Math.round(handed.perMinute)} a minute`;
  return (
    `Handover: ${counted(made, "machine")} released now, ${done} handed over, ${waiting} waiting, ` +
    `${inMaintenance} held by the plan, ${trouble.length} failed${before}${errors}${rate}.`
  );
}

interface Releasing extends WindowSession {
  readonly handover: Handover;
  readonly logs: readonly Log[];
  /** Receives the number of finished machines, and messages about all machines. */
  readonly progress: Progress;
}

/** The result of a hand-over or of staging again. A failure in `broke` is thrown after the report. */
type HandedOver = Awaited<ReturnType<typeof release>>;

/**
 * Hands staged machines over in plan order and waits until a conductor has each. Back: puts
 * released machines into maintenance again. Safe to repeat, because rows show the released machines.
 * @throws MigrationError if it fails before the first change. Later failures are in `broke`
 */
export async function release(
  direction: Direction,
  plan: AsyncIterable<readonly PlannedNode[]>,
  releasing: Releasing,
  pace: Pace,
) {
  const { handover, clock, logs } = releasing;
  const undo = direction === "back";
  /** Failed, or skipped during undo. */
  const trouble: Trouble[] = [];
  /** Handed over, with an error of a conductor to check. */
  const noted: Trouble[] = [];
  const notices: string[] = [];
  /** `done` includes earlier runs of the command. `before` are in `trouble`, and failed before. */
  let [done, before, inMaintenance, last] = [0, 0, 0, 0];
  const began = clock.now();
  const progress = (text?: string): void => releasing.progress(last, text, part.rate?.());
  const notice = (text: string): void => {
    notices.push(text);
    progress(text);
  };
  const part: ReturnType<typeof restagePart> = undo
    ? restagePart(handover)
    : handOverPart(
        handover,
        await createConductorHealth(handover, logs),
        { now: clock.now, notice },
        pace.deadline / 1000,
      );
  const ends = ({ change, position, found, completed }: Ending<PlannedNode, HandOverPosition>) => {
    const { id: uuid, bm_node_id } = change;
    const { is, judged, log } = position;
    const row = { ...judged, uuid, bm_node_id, ...(log.length > 0 && { log }) };
    if (is !== "after") trouble.push(row);
    else if (judged.state === "held") inMaintenance += 1;
    else done += 1;
    // A conductor's errors about a machine that is staged again no longer matter.
    if (is === "after" && judged.state !== "held" && judged.reason !== null && !undo)
      noted.push(row);
    if (is === "other" && found) before += 1;
    last = completed;
    progress();
  };
  const leg = { part, command: undo ? "handover --undo" : "handover", changes: () => plan, pace };
  const end = await runWindow(direction, leg, releasing, ends);
  const { made, inProgress: waiting, stopped, broke } = end;
  const minutes = (clock.now() - began) / 60_000;
  const perMinute = (part.rate?.() ?? null) === null ? null : (made - waiting) / minutes;
  return {
    ...{ made, done, inMaintenance, waiting, trouble, noted, before, notices, stopped, broke },
    perMinute,
  };
}

export interface TakeoverRequest
  extends Pick<VerifyRequest, "run" | "keyFile" | "ironicDb" | "allRows"> {
  /** Logs of conductors: `FILE`, or `FILE:LINE` to start there. */
  readonly conductorLog?: readonly string[];
}

/**
 * Checks each machine's hand-over once, with missing fields and errors in the conductors' logs.
 * Needs the database, because REST shows only the expected conductor. `accept` records that the
 * operator accepted the errors in the logs.
 * @throws MigrationError N2I-E105, N2I-E326 if there is no machine to check
 */
export async function verifyTakeover(request: TakeoverRequest, sink: Sink) {
  const opened = await openToVerify(request);
  const { plan, mappings } = opened;
  const { ironicDb, conductorLog = [] } = request;
  const logs = await logsAt(conductorLog);
  return closing(async (keep) => {
    const database = keep(await openRole("ironic-db", ironicDb, { readOnly: true }));
    const { target } = plan.header;
    const { identity, release } = await identifyTarget(database, mappings, target.release);
    checkIdentity(target, identity);
    const states = noStates();
    const nodes = plannedNodes(plan.lines(), () => true);
    const handover = createHandover(database, release);
    const missingFields = async (batch: readonly PlannedNode[]) => {
      const ids = batch.map(({ id }) => id);
      const filled = await fieldNames(database, release, ids);
      const missing = ({ id, row, root }: PlannedNode) =>
        missingKeys(release.doc, row, root ?? null, filled.get(id) ?? new Set());
      return new Map(batch.map((node) => [node.id, missing(node)]));
    };
    await sink.list("states", observe(nodes, handover, states, request.allRows, missingFields));
    if (Object.values(states).every((count) => count === 0)) throw nothingLoads(plan.footer.footer);
    const faults =
      logs.length === 0 ? 0 : await listFaults(logs, (lines, from) => logFaults(lines(from)), sink);
    const equal = isHandedOver(states) && faults === 0;
    await keepVerified(opened, { takeover: equal }, sink);
    const accept = (logged: string): Promise<void> => acceptLogs(opened, "takeover", logged, sink);
    return { states, logs: logs.length, faults, equal, accept };
  });
}
