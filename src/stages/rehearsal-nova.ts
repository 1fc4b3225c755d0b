import { identifyNova, NOVA_API_TABLES, NOVA_TABLES } from "../edge/nova-write/open.ts";
import { MigrationError } from "../model/error.ts";
import { stepsOf } from "../model/nova-plan.ts";
import type { Rehearsal } from "../model/rehearsal.ts";
import type { NovaFiles } from "./nova-files.ts";
import { checkNova } from "./nova-place.ts";
import { type CopyPlace, type CopySource, placeOf } from "./rehearsal-copy.ts";

/** Where a database tells how far its own migrations got. */
const VERSIONS = ["migrate_version", "alembic_version"];

/** What of Nova's databases is read or changed: they hold what a cloud ever had, and the rest is left. */
export const COPIED = {
  "nova-db": [...NOVA_TABLES, ...VERSIONS],
  "nova-api-db": [...NOVA_API_TABLES, ...VERSIONS],
} as const;

/** Databases of Nova that a rehearsal is to copy, and why others of a plan's are not copied. */
export interface NovaCopies {
  readonly places: readonly CopyPlace[];
  readonly why: string | null;
}

/**
 * Looks at what of a plan is in Nova, and where copies of it would go.
 *
 * @param sources those that were given
 * @param ironic what is copied besides
 * @throws MigrationError N2I-E300 for another Nova than the plan's, N2I-E351
 */
export async function novaPlaces(
  plan: NovaFiles | null,
  sources: readonly CopySource[],
  ironic: CopyPlace,
): Promise<NovaCopies> {
  if (plan === null || stepsOf(plan.counts) === 0) return { places: [], why: null };
  const nova = sources.find(({ role }) => role === "nova-db");
  if (nova === undefined) return { places: [], why: "--nova-db is not given" };
  checkNova(plan.header.target, await identifyNova(nova.source));
  const inDatabase = plan.header.api !== undefined;
  const api = sources.find(({ role }) => inDatabase && role === "nova-api-db");
  const places: CopyPlace[] = [];
  try {
    for (const source of [nova, ...(api === undefined ? [] : [api])])
      places.push(await placeOf(source, [ironic, ...places]));
  } catch (cause) {
    return { places, why: mayNot(cause) };
  }
  return { places, why: null };
}

/** What a login may not do is no fault of the plan. @throws what else it is */
export function mayNot(cause: unknown): string {
  if (!(cause instanceof MigrationError) || cause.code !== "N2I-E350") throw cause;
  return `${cause.code} ${cause.message}. ${cause.fix}`;
}

/**
 * What of a plan's rows of Nova was rehearsed.
 *
 * @param copied the databases that were
 * @param why others were not
 */
export function novaRehearsed(
  plan: NovaFiles | null,
  copied: readonly CopySource[],
  why: string | null,
): Rehearsal["nova"] {
  const { api = 0 } = plan?.counts ?? {};
  const rows = plan === null ? 0 : stepsOf(plan.counts);
  const has = (wanted: CopySource["role"]): boolean => copied.some(({ role }) => role === wanted);
  const apart = has("nova-api-db") ? 0 : api;
  return { rows, left: has("nova-db") ? apart : rows, why };
}
