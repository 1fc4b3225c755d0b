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

/**
 * What of Nova a plan has not looked at, by the release of its database.
 *
 * @param api flavors of nova_api were looked at
 * @param moving compute hosts change
 */
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

/** Flavors a refusal names. */
const MOST = 10;

/**
 * Refuses what `--flavor` names and is no flavor: it would change nothing, without a word. One that was
 * deleted counts while instances use it.
 *
 * @param named names and flavorids
 * @throws MigrationError N2I-E107
 */
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
    `--flavor ${unknown.map(show).join(", ")} is no flavor; there are ${listed(names, MOST) || "none"}`,
    { fix: "Give a flavor's name or flavorid; those of Newton and later need --nova-api-db." },
  );
}
