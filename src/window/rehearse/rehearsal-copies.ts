import { MigrationError } from "../../lib/error.ts";
import type { ApplyWords } from "../../migrate/apply/apply.ts";
import { checkIdentity } from "../../migrate/apply/ironic-place.ts";
import type { NovaFiles } from "../../migrate/hosts/nova-files.ts";
import { checkNova } from "../../migrate/hosts/nova-place.ts";
import { databaseBackend } from "../../migrate/open/backend.ts";
import { loadMappings } from "../../migrate/open/documents.ts";
import type { TargetIdentity } from "../../model/artefact.ts";
import { type DatabasePlace, mayBeSame } from "../../model/database.ts";
import { HEARTBEAT } from "../../model/ironic/service.ts";
import { type NovaIdentity, stepsOf } from "../../model/nova/nova-plan.ts";
import type { Rehearsal } from "../../model/rehearsal.ts";
import type { Seal } from "../../model/secret.ts";
import { closing, openRole } from "../../run/databases.ts";
import type { Copies } from "../../run/process-context.ts";
import { digestOfRows } from "../../systems/database/digest.ts";
import { identify } from "../../systems/database/identity.ts";
import type { Database } from "../../systems/database/open.ts";
import { identifyNova, NOVA_API_TABLES, NOVA_TABLES } from "../../systems/nova-db/plan-open.ts";
import { createNovaTarget } from "../../systems/nova-db/target.ts";

/** The options that name the copies. */
type CopyOptions = Pick<ApplyWords, "ironicDb" | "novaDb" | "novaApiDb">;

/** Copies that a rehearsal may write to. */
interface RehearsalCopies {
  readonly databases: Copies;
  /** Their addresses, for people. */
  readonly shown: readonly string[];
  readonly nova: Rehearsal["nova"];
  /** A digest of their rows. */
  readonly digest: () => Promise<string>;
}

/** A database that was restored for a rehearsal. */
interface Copy {
  readonly role: "ironic-db" | "nova-db" | "nova-api-db";
  readonly spec: string;
  /** The database of the plan that it replaces. */
  readonly planned: TargetIdentity | NovaIdentity;
  /** The tables that are compared before and after; all without it. */
  readonly tables?: readonly string[];
  /** The names of services that reported within the last minute. */
  readonly running: (copy: Database) => Promise<readonly string[]>;
}

/**
 * Opens the databases that the operator restored for a rehearsal, and checks that the plan fits them and that no service
 * uses them. Nothing is written.
 *
 * @throws MigrationError N2I-E300 for other schemas than the plan's, N2I-E351 for the plan's own databases and for those
 * of running services
 */
export async function openCopies(
  options: CopyOptions & { readonly ironicDb: string },
  target: TargetIdentity,
  files: NovaFiles | null,
  seal: Seal,
): Promise<RehearsalCopies> {
  const nova = rehearsedNova(files, options);
  const copies = [ironicCopy(options.ironicDb, target, seal)];
  if (files !== null && nova.left < nova.rows) copies.push(...novaCopies(files, options));
  const databases = new Map<string, DatabasePlace>();
  const shown: string[] = [];
  for (const copy of copies) {
    const place = placeOf(copy.planned);
    shown.push(
      await reading(copy, (database) => checkCopy(copy, { ...database, standsFor: place })),
    );
    databases.set(copy.role, place);
  }
  return {
    ...{ databases, shown, nova },
    async digest() {
      const sums: string[] = [];
      for (const copy of copies)
        sums.push(await reading(copy, (database) => digestOfRows(database, copy.tables)));
      return sums.join("\n");
    },
  };
}

/** The rows of Nova that the plan changes, and why they are not rehearsed. */
function rehearsedNova(
  files: NovaFiles | null,
  { novaDb, novaApiDb }: CopyOptions,
): Rehearsal["nova"] {
  const rows = files === null ? 0 : stepsOf(files.counts);
  const missing =
    novaDb === undefined
      ? "--nova-db"
      : files?.header.api !== undefined && novaApiDb === undefined
        ? "--nova-api-db"
        : null;
  if (rows === 0 || missing === null) return { rows, left: 0, why: null };
  return { rows, left: rows, why: `${missing} is not given` };
}

function ironicCopy(spec: string, planned: TargetIdentity, seal: Seal): Copy {
  return {
    ...{ role: "ironic-db", spec, planned },
    async running(copy) {
      const backend = databaseBackend(copy, await loadMappings());
      const { identity, target } = await backend.open(planned.release, seal);
      checkIdentity(planned, identity);
      const { conductors } = await target.service();
      return conductors.flatMap(({ alive, hostname }) =>
        alive ? [`ironic-conductor ${hostname}`] : [],
      );
    },
  };
}

function novaCopies({ header, counts }: NovaFiles, { novaDb, novaApiDb }: CopyOptions): Copy[] {
  const copies: Copy[] = [];
  if (novaDb !== undefined)
    copies.push({
      ...{ role: "nova-db", spec: novaDb, planned: header.target, tables: NOVA_TABLES },
      async running(copy) {
        const identity = await identifyNova(copy);
        checkNova(header.target, identity);
        const beats = await createNovaTarget(copy, identity).beats(counts.stopped);
        return beats.flatMap(({ host, age }) =>
          age !== null && Math.abs(age) < HEARTBEAT ? [`nova-compute ${host}`] : [],
        );
      },
    });
  if (header.api !== undefined && novaApiDb !== undefined)
    copies.push({
      ...{ role: "nova-api-db", spec: novaApiDb, planned: header.api, tables: NOVA_API_TABLES },
      running: () => Promise.resolve([]),
    });
  return copies;
}

/** @returns its address, for people */
async function checkCopy({ role, planned, running }: Copy, copy: Database): Promise<string> {
  const { standsFor: _, ...itself } = copy;
  if (mayBeSame(planned, await identify(itself)))
    throw new MigrationError(
      "N2I-E351",
      `--${role} ${copy.shown} is the database that the plan was made for`,
    );
  const services = await running(copy);
  if (services.length > 0)
    throw new MigrationError(
      "N2I-E351",
      `--${role} ${copy.shown} has reports of ${services.join(", ")} from the last minute`,
      { fix: "If the backup is that new, wait a minute. If the database is in use, name another." },
    );
  return copy.shown;
}

function placeOf({ address = "", database = "", server = "" }: Copy["planned"]): DatabasePlace {
  return { address, database, server };
}

function reading<T>({ role, spec }: Copy, work: (database: Database) => Promise<T>): Promise<T> {
  return closing(async (keep) => work(keep(await openRole(role, spec, { readOnly: true }))));
}
