import { isEqual, type Verified } from "../core/verify/tally.ts";
import type { RunFolder } from "../edge/disk/run-folder.ts";
import { execute } from "../engine/execute.ts";
import type { Walked } from "../engine/walk.ts";
import type { SameSecret } from "../model/compare.ts";
import { MigrationError } from "../model/error.ts";
import type { ApiIdentity } from "../model/nova-plan.ts";
import type { PlannedMachine } from "../model/plan.ts";
import type { Seal } from "../model/secret.ts";
import { ironicLeg } from "../parts/ironic.ts";
import { afterLoad, afterNova, beforeLoad } from "./apply-nova.ts";
import type { Backend } from "./backend.ts";
import { checkOthers } from "./check-others.ts";
import { lookCloser } from "./closer.ts";
import { lookForConductors } from "./conductors.ts";
import type { Mappings } from "./documents.ts";
import type { IronicPlace } from "./ironic-place.ts";
import type { NovaSide } from "./nova-side.ts";
import { stopped } from "./pipeline.ts";
import type { Readings } from "./power-file.ts";
import { openProbe } from "./probe.ts";
import { conductorOf, recheckWith } from "./recheck.ts";
import type { openPlan } from "./run.ts";
import type { RunSession } from "./session.ts";
import type { Sink } from "./sink.ts";
import { compare } from "./verify.ts";

/** What a load is made of. */
interface Job {
  readonly run: RunFolder;
  readonly plan: Awaited<ReturnType<typeof openPlan>>;
  readonly backend: Backend;
  readonly seal: Seal;
  readonly staged: boolean;
  readonly readings: Readings;
  readonly mappings: Mappings;
  readonly session: RunSession;
  readonly nova: NovaSide | null;
  readonly place: IronicPlace;
  readonly sink: Sink;
  /** Whether each machine is asked once more right before its batch. */
  readonly recheckPower: boolean;
  /** The command that goes on with it. */
  readonly again: string;
}

export interface Loaded {
  /** Machines that failed. */
  readonly failed: number;
  readonly verified: Verified;
  /** Everything is as planned. */
  readonly equal: boolean;
  /** Where its flavors are; null where Nova was left. */
  readonly nova: { readonly api: ApiIdentity | undefined } | null;
}

/** Flavors, machines, hosts, then verify; null when it was stopped on request. */
export async function load(job: Job): Promise<Loaded | null> {
  const { run, plan, backend, seal, session, nova, place, sink, again } = job;
  const same = backend.same(seal);
  const entries = session.journal.entries();
  if (plan.header.beside_others !== true) await checkOthers(run, backend, place.target, entries);
  const guard = guardOf(job, same);
  const flavors = await beforeLoad(nova, guard, sink);
  if (flavors === null) {
    sink.say(stopped(again, "; nothing is loaded"));
    return null;
  }
  const beside = (cause: unknown): unknown =>
    flavors.done > 0 ? afterNova(cause, `${flavors.done} rows of flavors are changed`) : cause;
  const applied = await loadMachines(job, guard).catch((cause: unknown) => {
    throw beside(cause);
  });
  tellApplied(applied, sink);
  if (applied.broke !== null) throw beside(applied.broke);
  if (applied.stopped) {
    const failures = applied.failed.length;
    const also = failures > 0 ? `, and ${failures} machines failed before that` : "";
    sink.say(stopped(again, also));
    return null;
  }
  const moved = await afterLoad(nova, applied, sink).catch((cause: unknown) => {
    throw applied.done === 0 ? beside(cause) : afterNova(cause, "Ironic is loaded, nova is not");
  });
  if (moved === null) {
    sink.say(stopped(again));
    return null;
  }
  const changed = flavors.done + applied.done + moved.done;
  const verified = await compare(plan, place.verifier, same, sink).catch((cause: unknown) => {
    // Without this, status 1 would say that nothing was changed.
    if (changed === 0 || !(cause instanceof MigrationError)) throw cause;
    const what = "everything is loaded, but verify did not end";
    throw new MigrationError("N2I-E301", `${what}: ${cause.code} ${cause.message}`, { cause });
  });
  return {
    ...{ failed: applied.failed.length, verified },
    equal: isEqual(verified) && moved.left + flavors.left === 0,
    nova: nova === null ? null : { api: nova.plan.header.api },
  };
}

/** The checks before the first write. */
function guardOf({ plan, place, session }: Job, same: SameSecret): () => Promise<void> {
  const { lines, header, footer } = plan;
  const { target } = place;
  const entries = session.journal.entries();
  const look = lookCloser(lines, footer.sha256, header.target_before, same, { target, entries });
  const conductors = lookForConductors(lines, target);
  return async () => {
    await place.precondition();
    await look();
    await conductors();
  };
}

async function loadMachines(job: Job, guard: () => Promise<void>): Promise<Walked<PlannedMachine>> {
  const { plan, place, nova, session, seal, staged, readings, mappings } = job;
  const ask = job.recheckPower ? conductorOf(plan.header, mappings) : null;
  const probe = ask === null ? null : openProbe("native", ask.ipmitool);
  const exclude =
    ask === null || probe === null
      ? {}
      : { exclude: recheckWith(readings, probe.ask, seal, session.signal, ask) };
  const { sha256, footer } = plan.footer;
  const leg = {
    ...ironicLeg(place.part, { sha256, lines: plan.lines }),
    ...{ staged, precondition: guard, ...exclude },
    async check() {
      await place.check();
      // A nova-compute that somebody starts amid a long load is met before the next batch.
      await nova?.look();
    },
  };
  return job.sink
    .during(
      "apply",
      footer.machines,
      (progress) => execute([leg], session, { direction: "forward" }, progress),
      ({ done, found, broke }) =>
        `${done} rows created, ${found} there already${broke === null ? "" : ", stopped midway"}`,
    )
    .finally(() => probe?.close());
}

function tellApplied(
  { done, found, left, excluded, failed }: Walked<PlannedMachine>,
  { told }: Sink,
): void {
  const drifted =
    left.length > 0 ? `, ${left.length} changed since they were loaded and left alone` : "";
  told(`Apply: ${done} rows created, ${found} unchanged${drifted}.`);
  for (const [what, some] of [
    ["Left out", excluded],
    ["Failed", failed],
  ] as const)
    for (const { line, why } of some)
      told(`${what}: ${line.uuid} (bm_nodes.id=${line.bm_node_id}) ${why}`);
}
