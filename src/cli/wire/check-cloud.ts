import { imageStatuses } from "../../edge/glance/status.ts";
import type { CheckView, NovaFacts, Refused } from "../../model/check.ts";
import type { PlanFacts } from "../../model/check-plan.ts";
import { MigrationError } from "../../model/error.ts";
import { cloudFor, type RestOptions } from "./cloud.ts";

/** Seconds a call to Glance may take. */
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
  try {
    return await imageStatuses(cloudFor(options), LIMIT * 1000, ids);
  } catch (error) {
    if (!(error instanceof MigrationError)) throw error;
    return { refused: { code: error.code, message: error.message, fix: error.fix } };
  }
}
