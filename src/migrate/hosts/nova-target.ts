import type { Leg } from "../../engine/part.ts";
import { MigrationError } from "../../lib/error.ts";
import { differences } from "../../model/database.ts";
import type {
  NovaIdentity,
  NovaLegName,
  NovaStep,
  NovaTarget,
} from "../../model/nova/nova-plan.ts";
import { failpoint } from "../../run/failpoint.ts";
import type { RunSession } from "../../run/session.ts";
import type { Database } from "../../systems/database/open.ts";
import { identifyNova } from "../../systems/nova-db/plan-open.ts";
import { createNovaTarget } from "../../systems/nova-db/target.ts";
import { type NovaPlan, novaLeg, type novaParts } from "../apply/nova.ts";
import type { NovaFiles } from "./nova-files.ts";
import { type Watching, watchComputes } from "./nova-watch.ts";

/** A watch over the nova-computes of hosts, which starts when it is opened. */
type ComputeWatch = Awaited<ReturnType<typeof watchComputes>>;

/** @throws MigrationError N2I-E300 with the differences */
export function checkNova(planned: NovaIdentity, found: NovaIdentity, what = "another nova"): void {
  const changed = differences(planned, found, ["schema_version", "head"]);
  if (changed.length > 0)
    throw new MigrationError("N2I-E300", `the plan was made for ${what}: ${changed.join("; ")}`);
}

interface LockedNova {
  readonly target: NovaTarget;
  readonly watch: ComputeWatch;
  readonly check: () => Promise<void>;
}

/**
 * Checks that this is the nova of the plans, then locks and watches it during `work`.
 * @throws MigrationError N2I-E310 if a nova-compute of the plans' hosts reported within a minute
 */
export async function withNova<T>(
  session: RunSession,
  database: Database,
  plans: readonly NovaFiles[],
  watching: Watching,
  work: (lockedNova: LockedNova) => Promise<T>,
): Promise<T> {
  const identity = await identifyNova(database);
  for (const { header } of plans) checkNova(header.target, identity);
  const target = createNovaTarget(database, identity, failpoint);
  const lock = await target.lock();
  try {
    const hosts = [...new Set(plans.flatMap(({ counts }) => counts.stopped))];
    await session.begin("nova", identity);
    const watch = await watchComputes(target.beats, hosts, watching, session.stopping);
    return await work({ target, watch, check: lock.check });
  } finally {
    await lock.release();
  }
}

/** The leg of a plan in Nova, with its checks. */
export function novaLegOf(
  { watch, check }: Pick<LockedNova, "watch" | "check">,
  parts: ReturnType<typeof novaParts>,
  name: NovaLegName,
  plan: NovaPlan,
): Leg<NovaStep> {
  return { ...novaLeg(parts[name], name, plan), check, precondition: watch.inspect };
}

/** Marks a failure in one database that happened after the other was changed. */
export function afterNova(cause: unknown, what: string): unknown {
  if (!(cause instanceof MigrationError) || cause.code === "N2I-E301") return cause;
  return new MigrationError("N2I-E301", `${what}: ${cause.code} ${cause.message}`, { cause });
}
