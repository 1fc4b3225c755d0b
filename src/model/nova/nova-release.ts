/** Versions of nova's own database, each the last of its release. @source facts/nova-bm.md 1.1 */
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

/**
 * What stands for the version where alembic counts: a number that sqlalchemy-migrate never had. Heads
 * are compared as such.
 */
export const ALEMBIC = 423;

/** Heads of nova, oldest first; none of them takes away what is read here. @source nova nova/db/main/migrations/versions */
export const NOVA_HEADS: readonly string[] = [
  ...["8f2f1571d55b", "16f1fbcab42b", "ccb0fa1a2252", "960aac0e09ea", "1b91788ec3a6"],
  ...["1acf2c98e646", "13863f4e1612", "d60bddf7a903", "2903cd72dc14", "ab450ba04102"],
];

/**
 * Whether a nova-compute that has no row in services refuses to start once its driver lists
 * instances: 29.0.0 (2024.1) does, and brought the head 13863f4e1612, which 28 has not.
 *
 * @source nova 29.0.0 compute/manager.py _sanity_check_new_host
 */
export function refusesNewHosts(head: string | undefined): boolean {
  return head !== undefined && NOVA_HEADS.indexOf(head) >= NOVA_HEADS.indexOf("13863f4e1612");
}

/** How a version is named for people. */
export function versionNamed(version: number): string {
  return version === ALEMBIC || version === ALEMBIC_API ? "of Xena or later" : String(version);
}

/** The first and the last version that is known. */
export const NOVA_VERSIONS = { first: 161, last: 422 } as const;

/** Liberty's, the first Nova that destroys by its records of evacuations. @source facts/rehearsal.md 5 */
export const LIBERTY = 302;

/** Juno's, the last Nova that had nova-baremetal. */
export const JUNO = 254;

/** The release a version of nova's database belongs to, or is on the way to. */
export function novaReleaseOf(version: number): string {
  return RELEASES.find(([last]) => version <= last)?.[1] ?? "a later release";
}

/**
 * Whether flavors are nova_api's: Newton reads them there first, and its own data migration takes
 * them away from nova. @source facts/nova-bm.md 4.3
 */
export function hasApiFlavors(version: number): boolean {
  return version > 319;
}

/** Whether aggregates are nova_api's: since Newton nothing reads nova's own tables of them. */
export function hasApiAggregates(version: number): boolean {
  return version > 319;
}

/** Versions of nova_api, each the last of its release. @source facts/nova-bm.md 4.3 */
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

/** As ALEMBIC, of nova_api. */
export const ALEMBIC_API = 73;

/** As NOVA_HEADS. @source nova nova/db/api/migrations/versions */
export const NOVA_API_HEADS: readonly string[] = ["d67eeaabee36", "b30f573d3377", "cdeec0c85668"];

/** Versions of nova_api whose flavors count: Mitaka had the tables and did not read them. */
export const NOVA_API_VERSIONS = { first: 8, last: 72 } as const;

export function novaApiReleaseOf(version: number): string {
  return API_RELEASES.find(([last]) => version <= last)?.[1] ?? "a later release";
}
