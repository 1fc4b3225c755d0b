import { MigrationError } from "../../../lib/error.ts";
import type { PlanHeader } from "../../../model/artefact.ts";
import type { TargetDoc } from "../../../model/mapping.ts";
import { JUNO, novaReleaseOf, versionName } from "../../../model/nova/nova-release.ts";

/** Nova release by the version of its own database. @source facts/systems.md D R3 */
function novaRelease(nova: number | null, novaBm: number): string {
  if (nova === null) return novaBm === 10 ? "Icehouse or Juno" : novaBm >= 5 ? "Havana" : "Grizzly";
  if (nova >= JUNO) return novaReleaseOf(nova);
  if (nova > 234) return "a Juno snapshot";
  if (nova >= 233) return "Icehouse";
  if (nova > 216) return "an Icehouse snapshot";
  return nova > 161 ? "Havana" : "Grizzly";
}

/**
 * Checks that source and target are Juno. Other pairs need the operator's permission, which the
 * plan records. nova_bm 10 is Icehouse or Juno, so without the nova database, the plan notes the
 * uncertainty.
 * @throws MigrationError N2I-E205 with the upgrade path
 * @source facts/systems.md D R3, R4
 */
export function pair(
  nova: number | null,
  novaBm: number,
  target: TargetDoc,
  override: boolean,
): PlanHeader["pairing"] {
  const source = novaRelease(nova, novaBm);
  const rule = target.pairing;
  const isSupported =
    rule?.nova_bm.includes(novaBm) === true && (nova === null || rule.nova.includes(nova));
  const versions = `nova ${nova === null ? "not read" : versionName(nova)}, nova_bm ${novaBm}, ironic ${target.release}`;
  const pairing = { nova, nova_bm: novaBm, ironic: target.alembic_head };
  if (isSupported)
    return {
      ...pairing,
      allowed: "rule",
      why: nova === null ? `${versions}: Juno if nova is` : `${versions}: one release`,
    };
  if (override) return { ...pairing, allowed: "override", why: `${versions}: --allow-pairing` };
  const text = `the source is ${source} (${versions}), but the upgrade is defined from Juno nova-baremetal to Juno Ironic`;
  const upgrade =
    nova !== null && nova > JUNO
      ? "Take a copy of nova's database from Juno"
      : `Go ${pathFrom(source)}`;
  throw new MigrationError("N2I-E205", text, {
    fix: `${upgrade}, or run plan with --allow-pairing, which is recorded.`,
  });
}

function pathFrom(source: string): string {
  const steps = ["Grizzly", "Havana", "Icehouse", "Juno"];
  const at = steps.findIndex((release) => source.includes(release));
  return [
    ...steps.slice(Math.max(at, 0)).map((release) => `${release} baremetal`),
    "Juno Ironic",
  ].join(" -> ");
}
