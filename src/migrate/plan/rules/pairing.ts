import { MigrationError } from "../../../lib/error.ts";
import type { PlanHeader } from "../../../model/artefact.ts";
import type { TargetDoc } from "../../../model/mapping.ts";
import { JUNO, novaReleaseOf, versionNamed } from "../../../model/nova/nova-release.ts";

/** nova release by the version of its own database. @source facts/systems.md D R3 */
function novaRelease(nova: number | null, novaBm: number): string {
  if (nova === null) return novaBm === 10 ? "Icehouse or Juno" : novaBm >= 5 ? "Havana" : "Grizzly";
  if (nova >= JUNO) return novaReleaseOf(nova);
  if (nova > 234) return "a Juno snapshot";
  if (nova >= 233) return "Icehouse";
  if (nova > 216) return "an Icehouse snapshot";
  return nova > 161 ? "Havana" : "Grizzly";
}

/**
 * The upgrade's own rule: source and target are of one release, Juno. Anything else needs the
 * operator's word, which the plan records.
 *
 * nova_bm alone cannot tell Icehouse from Juno (version 10 is both), so without the nova database
 * the pairing rests on nova_bm's version, and the plan says so.
 *
 * @throws MigrationError N2I-E205 with the path that leads there
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
  const fits =
    rule?.nova_bm.includes(novaBm) === true && (nova === null || rule.nova.includes(nova));
  const versions = `nova ${nova === null ? "not read" : versionNamed(nova)}, nova_bm ${novaBm}, ironic ${target.release}`;
  const pairing = { nova, nova_bm: novaBm, ironic: target.alembic_head };
  if (fits)
    return {
      ...pairing,
      allowed: "rule",
      why: nova === null ? `${versions}: Juno if nova is` : `${versions}: one release`,
    };
  if (override) return { ...pairing, allowed: "override", why: `${versions}: --allow-pairing` };
  throw new MigrationError(
    "N2I-E205",
    `the source is ${source} (${versions}); the upgrade is defined from Juno nova-baremetal to Juno Ironic`,
    {
      fix: `${nova !== null && nova > JUNO ? "Take a copy of nova's database from Juno" : `Go ${pathFrom(source)}`}, or give --allow-pairing to plan; it is written into the plan.`,
    },
  );
}

function pathFrom(source: string): string {
  const steps = ["Grizzly", "Havana", "Icehouse", "Juno"];
  const at = steps.findIndex((release) => source.includes(release));
  return [
    ...steps.slice(Math.max(at, 0)).map((release) => `${release} baremetal`),
    "Juno Ironic",
  ].join(" -> ");
}
