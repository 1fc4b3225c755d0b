import { imageStatuses } from "../edge/glance/images.ts";
import { refusedCalls } from "../edge/nova-rest/policy.ts";
import type { CheckView, NovaFacts, Refused } from "../model/check.ts";
import type { PlanFacts } from "../model/check-plan.ts";
import { MigrationError } from "../model/error.ts";
import { cloudFor, type RestOptions, saysCloud } from "./cloud.ts";

/** Seconds a call to Glance or Nova may take. */
const LIMIT = 60;

/** Deploy images and what tenants were made of; what Glance does not tell is a row of the table. */
export async function askGlance(
  options: RestOptions,
  plan: PlanFacts | null,
  nova: NovaFacts | Refused | null,
): Promise<CheckView["glance"]> {
  const tenants =
    nova === null || "refused" in nova ? [] : nova.instances.filter(({ deleted }) => !deleted);
  const ids = [
    ...(plan?.images ?? []),
    ...(plan?.made ?? []),
    ...tenants.flatMap(({ image }) => (image === null ? [] : [image])),
  ];
  return orRefused(() => imageStatuses(cloudFor(options), LIMIT * 1000, ids));
}

/** Which calls of the plan Nova's policy refuses; null where it makes none, or nobody to ask as is said. */
export async function askPolicy(
  options: RestOptions,
  plan: PlanFacts | null,
): Promise<CheckView["policy"]> {
  const calls = plan?.nova?.calls;
  if (calls === undefined || calls.size === 0 || !saysCloud(options)) return null;
  return orRefused(() => refusedCalls(cloudFor(options), LIMIT * 1000, calls));
}

async function orRefused<T>(work: () => Promise<T>): Promise<T | Refused> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    return { refused: { code: error.code, message: error.message, fix: error.fix } };
  }
}
