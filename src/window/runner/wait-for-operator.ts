import { setTimeout as sleep } from "node:timers/promises";
import { MigrationError } from "../../lib/error.ts";
import { counted, duration, listed, NAMES, shellArgument } from "../../lib/text.ts";
import { novaPlanOf } from "../../migrate/hosts/nova-files.ts";
import { runningComputes } from "../../migrate/hosts/rules/running.ts";
import { openBackend, type TargetOptions } from "../../migrate/open/backend.ts";
import { isEqual } from "../../migrate/verify/rules/used.ts";
import { openToVerify, type VerifyRequest, verifyRun } from "../../migrate/verify/verify.ts";
import type { RowVerdict } from "../../model/artefact.ts";
import { closing, openRole } from "../../run/databases.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { nextCommand } from "../../run/next.ts";
import { openPlan, PLAN } from "../../run/run.ts";
import { type Sink, silently, verdictsTo } from "../../run/sink.ts";
import { identifyNova } from "../../systems/nova-db/plan-open.ts";
import { createNovaTarget } from "../../systems/nova-db/target.ts";
import { type TakeoverRequest, verifyTakeover } from "../handover/handover.ts";
import { isHandedOver } from "../handover/rules/judge.ts";

export interface Waiting {
  readonly every: number;
  /** Seconds in total. Default: until the condition holds, or Ctrl-C. */
  readonly most?: number | undefined;
  readonly sink: Sink;
}

/** Seconds between repeated messages, during which changed counts are not printed. */
const AGAIN = 60;

/**
 * Checks repeatedly until the condition holds. Ctrl-C or a kill is safe at any time.
 * @param check text about the missing condition. Null: it holds
 * @throws MigrationError N2I-E328 after `most` seconds
 */
export async function until(
  check: () => Promise<string | null>,
  { every, most, sink }: Waiting,
): Promise<void> {
  const began = Date.now();
  let [reported, at] = ["", 0];
  for (;;) {
    const missing = await check();
    if (missing === null) return;
    const now = Date.now();
    const kind = missing.replaceAll(/\d+/g, "N");
    if (kind !== reported || now - at > AGAIN * 1000) {
      const again =
        reported === ""
          ? ` It checks every ${every} s. To stop, press Ctrl-C. The same command resumes.`
          : "";
      const since = reported === "" ? "" : ` (${duration((now - began) / 1000)})`;
      sink.report(`Waiting${since}: ${missing}${again}`);
      [reported, at] = [kind, now];
    }
    if (most !== undefined && now - began > most * 1000)
      throw new MigrationError("N2I-E328", `not observed within ${most} s: ${missing}`);
    await sleep(every * 1000);
  }
}

/** Waits until every nova-compute of the plan is stopped. A plan without Nova names none. */
export async function computesStopped(
  run: RunFolder,
  { novaDb }: { readonly novaDb?: string },
  polling: Waiting,
): Promise<void> {
  const { footer } = await openPlan(`${run.path}/${PLAN}`);
  const nova = await novaPlanOf(run, footer);
  if (nova === null || novaDb === undefined || nova.counts.stopped.length === 0) return;
  await closing(async (keep) => {
    const database = keep(await openRole("nova-db", novaDb, { readOnly: true }));
    const { beats } = createNovaTarget(database, await identifyNova(database));
    await until(async () => {
      const now = await beats(nova.counts.stopped);
      const hosts = now.filter((beat) => runningComputes([beat], [beat]).length > 0);
      if (hosts.length === 0) return null;
      const names = hosts.map(({ host }) => host);
      return `stop nova-compute on ${listed(names, NAMES)}. Each counts as stopped one minute after its last report.`;
    }, polling);
  });
}

export async function conductorAlive(
  request: TargetOptions & Pick<VerifyRequest, "run" | "keyFile">,
  polling: Waiting,
): Promise<void> {
  const { plan, seal, mappings } = await openToVerify(request);
  await closing(async (keep) => {
    const backend = keep(await openBackend(request, mappings, { readOnly: true }, ignore));
    const { target } = await backend.open(plan.header.target.release, seal);
    await until(async () => {
      const { conductors } = await target.service();
      return conductors.some(({ alive }) => alive)
        ? null
        : "start every ironic-conductor; none is alive.";
    }, polling);
  });
}

export function takenOver(request: TakeoverRequest, polling: Waiting): Promise<void> {
  const lists = lister(request.run, "takeover");
  return until(async () => {
    const { states, faults, accept } = await verifyTakeover(request, quiet(polling.sink));
    const { done, staged, waiting, failed, missing } = states;
    if (!isHandedOver(states)) {
      const logs = faults > 0 ? `; ${counted(faults, "error")} in conductors' logs` : "";
      const starting = waiting + staged > 0;
      const todo = starting ? "start every ironic-conductor" : "fix the failed machines";
      return `${todo}; ${counted(done, "machine is", "machines are")} taken over, ${waiting + staged} wait, ${failed + missing} failed${logs} (${lists}).`;
    }
    if (faults === 0) return null;
    // Log lines never disappear, so the operator confirms them.
    const logged = `the conductor logs contain ${counted(faults, "error")}`;
    await polling.sink.confirm(`Every machine is taken over, and ${logged} (${lists}). Continue?`);
    await accept(logged);
    return null;
  }, polling);
}

export function computeStarted(request: VerifyRequest, polling: Waiting): Promise<void> {
  const lists = lister(request.run, "final");
  return until(async () => {
    /** Rows that differ, by the system to fix. */
    let [powerUnknown, ironic, nova] = [0, 0, 0];
    const count = ({ resource, state, differs: [first, ...others] }: RowVerdict): void => {
      if (state === "validated" || state === "used") return;
      const isPower = first?.field === "power_state" && others.length === 0;
      if (resource !== "node" && resource !== "port") nova += 1;
      // A conductor reads the power of a machine some time after the takeover.
      else if (isPower && first.found === null) powerUnknown += 1;
      else ironic += 1;
    };
    const verified = await verifyRun({ ...request, final: true }, quiet(polling.sink, count));
    const texts: string[] = [];
    if (nova > 0)
      texts.push(
        `restart nova-scheduler and start the new nova-compute: ${counted(nova, "machine or row of Nova is", "machines or rows of Nova are")} not as planned`,
      );
    if (ironic > 0) texts.push(`Ironic differs from the plan in ${counted(ironic, "row")}`);
    if (powerUnknown > 0)
      texts.push(`Ironic has not read the power of ${counted(powerUnknown, "machine")} yet`);
    // finish removes the protection of machines, which they need until Nova has them.
    if (powerUnknown > 0 && texts.length === 1)
      texts.push(
        `if their BMCs do not respond, continue with ${nextCommand("finish", { run: request.run })}`,
      );
    if (!isEqual(verified)) return `${texts.join("; ")} (${lists}).`;
    const faults = verified.computes?.faults ?? 0;
    if (faults === 0) return null;
    const logged = `nova-compute logs have ${counted(faults, "fault")}`;
    await polling.sink.confirm(`Nova has every machine, and ${logged} (${lists}). Continue?`);
    await verified.accept(logged);
    return null;
  }, polling);
}

function lister(run: string, stage: "takeover" | "final"): string {
  return `nova2ironic verify --run ${shellArgument(run)} --${stage} lists them`;
}

function quiet(sink: Sink, each: (verdict: RowVerdict) => void = ignore): Sink {
  return { ...{ ...verdictsTo(sink, each), report: ignore, result: ignore, during: silently } };
}

function ignore(): void {}
