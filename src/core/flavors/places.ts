import { MigrationError } from "../../model/error.ts";
import { type Finding, finding, findingIf } from "../../model/finding.ts";
import { ALEMBIC, hasApiFlavors, novaReleaseOf, versionNamed } from "../../model/nova-release.ts";
import type { FlavorRows } from "../../model/nova-rows.ts";
import { listed, show } from "../../model/text.ts";
import type { FlavorFacts } from "./facts.ts";
import { isGone, namesImages, type PlannedFlavors } from "./flavors.ts";
import { MAKERS } from "./steps.ts";

/**
 * What of nova's own rows Nova's API does not reach: deleted flavors that instances use still.
 *
 * @param rows of flavors that the API does not show
 */
export function unreached(
  { place, flavors, specs, hosts }: FlavorRows,
  facts: FlavorFacts,
): PlannedFlavors {
  const named = new Set(specs.filter(namesImages).map(({ instance_type_id }) => instance_type_id));
  const lost = flavors.filter(
    (flavor) =>
      isGone(flavor) &&
      named.has(flavor.id) &&
      (hosts.get(flavor.id) ?? []).some((host) => facts.hosts.has(host)),
  );
  return {
    steps: [],
    findings: lost.map((flavor) =>
      finding("N2I-D239", MAKERS[place].place(flavor), "instances use it"),
    ),
  };
}

/**
 * What of Nova a plan has not looked at, by the release of its database.
 *
 * @param api flavors of nova_api, or of the API, were looked at
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
    {
      fix: "Give a flavor's name or flavorid; those of Newton and later want --nova-api-db or --flavors-via rest.",
    },
  );
}
