/** Last version of nova's database by release. @source facts/nova-bm.md 1.1 */
const RELEASES: readonly (readonly [number, string])[] = [
  [161, "Grizzly"],
  [216, "Havana"],
  [234, "Icehouse"],
  [254, "Juno"],
  [280, "Kilo"],
  [302, "Liberty"],
  [319, "Mitaka"],
  [334, "Newton"],
  [347, "Ocata"],
  [362, "Pike"],
  [378, "Queens"],
  [390, "Rocky"],
  [391, "Stein"],
  [402, "Train"],
  [422, "Wallaby"],
  [423, "Xena or later"],
];

/** Stands for alembic: sqlalchemy-migrate never had this version. Heads are compared instead. */
export const ALEMBIC = 423;

/** Oldest first. None removes a column we read. @source nova nova/db/main/migrations/versions */
export const NOVA_HEADS: readonly string[] = [
  ...["8f2f1571d55b", "16f1fbcab42b", "ccb0fa1a2252", "960aac0e09ea", "1b91788ec3a6"],
  ...["1acf2c98e646", "13863f4e1612", "d60bddf7a903", "2903cd72dc14", "ab450ba04102"],
];

/**
 * Whether a nova-compute without a services row refuses to start if its driver lists instances:
 * since 29.0.0 (2024.1), whose head is 13863f4e1612.
 * @source nova 29.0.0 compute/manager.py _sanity_check_new_host
 */
export function refusesNewHosts(head: string | undefined): boolean {
  return head !== undefined && NOVA_HEADS.indexOf(head) >= NOVA_HEADS.indexOf("13863f4e1612");
}

export function versionName(version: number): string {
  return version === ALEMBIC || version === ALEMBIC_API ? "of Xena or later" : String(version);
}

/** Supported versions before alembic. */
export const NOVA_VERSIONS = { first: 161, last: 422 } as const;

/** Liberty, the first Nova that destroys by evacuation records. @source facts/rehearsal.md 5 */
export const LIBERTY = 302;

/** Juno, the last Nova with nova-baremetal. */
export const JUNO = 254;

export function novaReleaseOf(version: number, releases = RELEASES): string {
  return releases.find(([last]) => version <= last)?.[1] ?? "a later release";
}

/**
 * Newton's data migrations move flavors and aggregates to nova_api. Since then, nothing reads
 * nova's own tables.
 * @source facts/nova-bm.md 4.3
 */
export function hasMovedToApi(version: number): boolean {
  return version > 319;
}

/** Last version of nova_api by release. @source facts/nova-bm.md 4.3 */
const API_RELEASES: readonly (readonly [number, string])[] = [
  [3, "Liberty"],
  [7, "Mitaka"],
  [20, "Newton"],
  [30, "Ocata"],
  [44, "Pike"],
  [52, "Queens"],
  [61, "Rocky"],
  [62, "Stein"],
  [67, "Train"],
  [72, "Wallaby"],
  [73, "Xena or later"],
];

/** As `ALEMBIC`, for nova_api. */
export const ALEMBIC_API = 73;

/** Heads of nova_api, oldest first. @source nova nova/db/api/migrations/versions */
export const NOVA_API_HEADS: readonly string[] = ["d67eeaabee36", "b30f573d3377", "cdeec0c85668"];

/** nova_api versions with flavors. Mitaka had the tables, but did not read them. */
export const NOVA_API_VERSIONS = { first: 8, last: 72 } as const;

export function novaApiReleaseOf(version: number): string {
  return novaReleaseOf(version, API_RELEASES);
}
