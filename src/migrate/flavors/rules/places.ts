import { MigrationError } from "../../../lib/error.ts";
import { listed, show } from "../../../lib/text.ts";
import { type Finding, findingIf } from "../../../model/finding.ts";
import {
  ALEMBIC,
  hasApiFlavors,
  novaReleaseOf,
  versionNamed,
} from "../../../model/nova/nova-release.ts";
import type { FlavorRows } from "../../../model/nova/nova-rows.ts";
import { isGone } from "./flavors.ts";

/** Parts of Nova that the plan did not check. @param api flavors of nova_api were checked */
export function judgeSchema(version: number, api: boolean, moving: boolean): readonly Finding[] {
  if (!hasApiFlavors(version)) return [];
  const place =
    version === ALEMBIC
      ? `nova ${versionNamed(version)}`
      : `nova ${version} (${novaReleaseOf(version)})`;
  return [
    ...findingIf(!api, "N2I-D240", place, "--nova-api-db is not given"),
    ...findingIf(moving, "N2I-D241", place, "--compute-host moves instances"),
  ];
}

/** A refusal names at most this many flavors. */
const MOST = 10;

/** Refuses a `--flavor` without a match. @throws MigrationError N2I-E107 */
export function refuseUnknown(named: ReadonlySet<string>, places: readonly FlavorRows[]): void {
  const known = places.flatMap(({ flavors, hosts }) =>
    flavors.filter((flavor) => !isGone(flavor) || (hosts.get(flavor.id) ?? []).length > 0),
  );
  const words = new Set(known.flatMap(({ name, flavorid }) => [name, flavorid]));
  const unknown = [...named].filter((word) => !words.has(word));
  if (unknown.length === 0) return;
  const names = [...new Set(known.map(({ name }) => show(name ?? "")))].toSorted();
  throw new MigrationError(
    "N2I-E107",
    `--flavor ${unknown.map(show).join(", ")} matches no flavor. Flavors: ${listed(names, MOST) || "none"}`,
    { fix: "Give a flavor's name or flavorid. Flavors of Newton and later need --nova-api-db." },
  );
}
