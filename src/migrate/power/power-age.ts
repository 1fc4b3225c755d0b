import { MigrationError, orNull } from "../../lib/error.ts";
import type { PlanHeader } from "../../model/artefact.ts";
import { POWER_AHEAD } from "../../model/power.ts";
import type { RunFolder } from "../../run/files/run-folder.ts";
import { openPower, POWER } from "./power-file.ts";

/**
 * Refuses a plan with old power readings. A plan without readings passes, because each of its
 * machines was accepted without one.
 * @param most minutes since the oldest query
 * @throws MigrationError N2I-E307 if they are older, or changed since the plan
 */
export async function checkReadings(
  run: RunFolder,
  { made_from }: PlanHeader,
  most: number,
  now: number,
): Promise<void> {
  const { power } = made_from;
  if (power === null) return;
  const found = await orNull(openPower(`${run.path}/${POWER}`), "N2I-E110");
  if (found?.footer.sha256 !== power.sha256)
    throw new MigrationError(
      "N2I-E307",
      `${run.path}/${POWER} is not the file that the plan was made from`,
      { fix: "Plan again, check the difference, then apply." },
    );
  const age = power.oldest === null ? 0 : (now - Date.parse(power.oldest)) / 60_000;
  // If the clock was set back, readings appear younger.
  if (age < -POWER_AHEAD)
    throw new MigrationError(
      "N2I-E307",
      `the oldest power reading is dated ${(-age).toFixed(1)} min ahead of this host's clock`,
      { fix: "Correct the clock, then run power, plan and apply again." },
    );
  if (age > most)
    throw new MigrationError(
      "N2I-E307",
      `the oldest power reading is ${age.toFixed(1)} min old, and --power-max-age is ${most}`,
    );
}
