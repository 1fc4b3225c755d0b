import { setTimeout as sleep } from "node:timers/promises";
import { causeWith, MigrationError } from "../lib/error.ts";
import { counted } from "../lib/text.ts";
import type { IdenticalDoc } from "../model/switchover.ts";
import { readJournal } from "../run/files/journal.ts";
import { nextCommand } from "../run/next.ts";
import { inRun } from "../run/run.ts";
import { withSession } from "../run/session.ts";
import type { Switchover } from "./rules/switching.ts";
import { NO_NOVA, type SwitchClients } from "./switchover-nova.ts";
import {
  type PerformOptions,
  perform,
  type Reporting,
  volumesPosition,
} from "./switchover-perform.ts";
import { decide } from "./switchover-plan.ts";
import {
  type Accepted,
  acceptedIn,
  checkSwitchClients,
  isOpen,
  outcomeOf,
  recordsIn,
  switchedIn,
  switchoverView,
  writeOutcome,
} from "./switchover-run.ts";

export interface SwitchingsAt {
  readonly state: string;
  readonly clients: SwitchClients;
  readonly options: Omit<PerformOptions, "run" | "sourceConfirmedOff">;
  readonly doc: IdenticalDoc;
  readonly report: (text: string) => void;
  readonly stopping: () => boolean;
  /** Milliseconds between attempts if a service does not answer, and the number of attempts. */
  readonly pause: number;
  readonly tries: number;
}

type Status = { error: string | null };

/** Resumes earlier switchovers. @throws MigrationError N2I-E110, N2I-E112, N2I-E113 */
export async function openSwitchings(at: SwitchingsAt) {
  const all = [...(await acceptedIn(at.state))];
  const taken = new Set<string>();
  const working = new Map<string, { readonly status: Status; readonly work: Promise<void> }>();
  const nodesOf = ({ plan, target }: Accepted) => [plan.source, target];
  const begin = (accepted: Accepted, plan: Switchover | null): void => {
    const { id } = accepted.plan;
    const status: Status = { error: null };
    const work = workOn(at, accepted, plan, status).finally(() => {
      working.delete(id);
      for (const node of nodesOf(accepted)) taken.delete(node);
    });
    working.set(id, { status, work });
  };
  for (const one of all)
    if (await isOpen(one)) {
      // Reserves the nodes before the first request.
      for (const node of nodesOf(one)) taken.add(node);
      at.report(`${one.plan.source}: resuming switchover ${one.plan.id}`);
      begin(one, null);
    }
  return {
    /** Uuids of nodes in progress. */
    taken: (): ReadonlySet<string> => taken,
    /** Reserves both nodes, synchronously; false if one of them is already reserved. */
    reserve({ source, destination }: Switchover): boolean {
      if (taken.has(source) || taken.has(destination)) return false;
      taken.add(source).add(destination);
      return true;
    },
    release({ source, destination }: Switchover): void {
      taken.delete(source);
      taken.delete(destination);
    },
    begin(accepted: Accepted, plan: Switchover): void {
      all.push(accepted);
      begin(accepted, plan);
    },
    /** The switchover that gave the node this name. */
    byName: (name: string, node: string): Switchover | undefined =>
      all.findLast(
        ({ plan: { source, source_name }, target }) =>
          source_name === name && target === node && source !== node,
      )?.plan,
    /** The node's newest switchover as source, otherwise as target, or null. */
    async newest(node: string) {
      const found =
        all.findLast(({ plan }) => plan.source === node) ??
        all.findLast(({ target }) => target === node);
      return found === undefined ? null : switchoverView(found, working.get(found.plan.id)?.status);
    },
    /** Resolves after each switchover has finished its step. */
    async ended(): Promise<void> {
      while (working.size > 0) await Promise.all([...working.values()].map(({ work }) => work));
    },
  };
}

/** Runs a switchover until it ends or needs an operator. Never throws. */
async function workOn(
  at: SwitchingsAt,
  accepted: Accepted,
  plan: Switchover | null,
  status: Status,
): Promise<void> {
  const { report } = at;
  const { source, id } = accepted.plan;
  try {
    await writeOutcome(accepted.run, null);
    // From the second attempt on, a switchover that did not start is planned again.
    for (let tries = 1; ; tries += 1) {
      const broke = await once(at, accepted, tries === 1 ? plan : null);
      if (broke === null || at.stopping()) return;
      status.error = broke.message;
      report(`${source}: ${broke.code} ${broke.message}`);
      // Only an unreachable service is worth another attempt.
      if (causeWith(broke, "N2I-E210") === null) return await close(accepted, broke);
      if (tries === at.tries) return await close(accepted, await silent(at, accepted, broke));
      await waitBeforeRetry(at);
      if (at.stopping()) return;
    }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    report(`${source}: switchover ${id} stopped: ${reason}`);
    const bug = new MigrationError("N2I-E301", `node switchover stopped: ${reason}`);
    await close(accepted, bug).catch(() => undefined);
  }
}

async function silent(
  { tries }: SwitchingsAt,
  { plan: { source }, run }: Accepted,
  { code, message }: MigrationError,
): Promise<MigrationError> {
  const { entries } = await readJournal(run);
  const plan = switchedIn(entries)?.plan ?? null;
  const position =
    plan === null
      ? "nothing was moved"
      : volumesPosition({ plan, recordsOf: (step) => recordsIn(entries, step, plan) });
  const next = nextCommand("node", { run: run.path }, {}, `switchover ${source}`);
  return new MigrationError(
    code,
    `${message}; ${position}; tried ${counted(tries, "time")}. To resume: ${next}`,
  );
}

/** @returns the error, or null if it ended or was stopped */
async function once(
  at: SwitchingsAt,
  accepted: Accepted,
  plan: Switchover | null,
): Promise<MigrationError | null> {
  const { clients, options, report, stopping } = at;
  const { path } = accepted.run;
  const output: Reporting = { report, note: report, result: report };
  try {
    await inRun(path, "node switchover", { kind: "switchover" }, async (run) => {
      // The switchover was rolled back while it waited.
      if ((await outcomeOf(run)) !== null) return;
      const { entries } = await readJournal(run);
      checkSwitchClients(entries, clients.service.identity.address);
      const first = switchedIn(entries)?.plan ?? plan ?? (await planAgain(at, accepted));
      if (first.server !== null && clients.nova === null) throw new MigrationError(...NO_NOVA);
      const act = { ...options, run: path, sourceConfirmedOff: false };
      const runClients = { ...clients, nova: first.server === null ? null : clients.nova };
      await withSession(
        run,
        (session) => {
          const stops = { ...session, stopping };
          return perform(act, first, { run, clients: runClients, session: stops, sink: output });
        },
        { afterWindow: true },
      );
    });
    return null;
  } catch (cause) {
    if (cause instanceof MigrationError) return cause;
    throw cause;
  }
}

/**
 * Plans an accepted switchover again, because its nodes may have changed. Keeps the target. Uses the
 * service's login, because the caller's token may have expired.
 *
 * @throws MigrationError N2I-E383 if the source has another instance now
 */
async function planAgain(
  { clients: { service, nova }, doc }: SwitchingsAt,
  { plan: { id, source, instance_uuid: was, leave_nova: leaveNova, picked }, target }: Accepted,
): Promise<Switchover> {
  const request = { source, destination: target, leaveNova, nova };
  const { plan } = await decide(service, doc, request);
  if (plan.instance_uuid === was) return { ...plan, id, picked };
  throw new MigrationError(
    "N2I-E383",
    `node ${plan.source_name ?? source} has instance ${plan.instance_uuid}, but had ${was} when its switchover was accepted`,
  );
}

function close({ run }: Accepted, { code, message }: MigrationError): Promise<void> {
  const at = new Date().toISOString();
  const state = code === "N2I-E388" ? "WAIT_FENCE" : "FAILED";
  return writeOutcome(run, { state, error: `${code} ${message}`, at });
}

const POLL_MS = 100;

async function waitBeforeRetry({ pause, stopping }: SwitchingsAt): Promise<void> {
  for (let waited = 0; waited < pause && !stopping(); waited += POLL_MS)
    await sleep(Math.min(POLL_MS, pause), null, { ref: true });
}
