import { setFlagsFromString } from "node:v8";
import { readDatabaseAddress } from "../systems/database/database-address.ts";
import { type Database, openDatabase } from "../systems/database/open.ts";
import { patience } from "./patience.ts";
import { surroundings } from "./process-context.ts";
import { waitingFor } from "./wait-message.ts";

/** The databases by their option; each has a credential of its own. */
export const ROLES = {
  "nova-bm-db": { option: "--nova-bm-db", section: "baremetal", key: "sql_connection" },
  "nova-db": { option: "--nova-db", section: "database", key: "connection" },
  "ironic-db": { option: "--ironic-db", section: "database", key: "connection" },
  "nova-api-db": { option: "--nova-api-db", section: "api_database", key: "connection" },
  "placement-db": { option: "--placement-db", section: "placement_database", key: "connection" },
} as const;

/**
 * Opens the database an option names. In a rehearsal, a database that does not replace one of the plan is not opened.
 *
 * @throws MigrationError N2I-E100 to N2I-E102, N2I-E200, N2I-E201, N2I-E202, N2I-E216
 */
export async function openRole(
  role: keyof typeof ROLES,
  spec: string | undefined,
  options: { readonly readOnly: boolean; readonly autocommit?: boolean },
): Promise<Database> {
  const { copies } = surroundings();
  const standsFor = copies?.get(role);
  if (copies !== undefined && standsFor === undefined)
    throw new Error(`a rehearsal has no copy of ${role}`);
  const address = await readDatabaseAddress(spec, ROLES[role], surroundings().env);
  const opened = await waitingFor(`opening ${ROLES[role].option}`, () =>
    openDatabase(address, { ...options, patience: patience() }),
  );
  return standsFor === undefined ? opened : { ...opened, standsFor };
}

interface Closable {
  readonly close: () => Promise<void>;
}

/** Keeps what is open until the work has ended. */
export type Keep = <T extends Closable>(opened: T) => T;

/**
 * Does work that opens systems; what it keeps is closed however it ends, the last first. Of several
 * failures the first is thrown.
 */
export async function closing<T>(work: (keep: Keep) => Promise<T>): Promise<T> {
  const kept: Closable[] = [];
  let result: T;
  try {
    result = await work((opened) => {
      kept.push(opened);
      return opened;
    });
  } catch (cause) {
    await closeAll(kept).catch(() => undefined); // why the work failed says more
    throw cause;
  }
  await closeAll(kept);
  return result;
}

/** Closes each, also after one that could not be: the others hold locks and connections. */
async function closeAll(kept: readonly Closable[]): Promise<void> {
  const failures: unknown[] = [];
  for (const opened of kept.toReversed())
    await opened.close().catch((cause: unknown) => failures.push(cause));
  if (failures.length > 0) throw failures[0];
}

/**
 * For what only passes rows through, page by page: young objects take no more room from here on than by now.
 * V8 would give them 32 MiB in time; to list 50,000 nodes takes 84 MiB in place of 118, and no more of the processor.
 * To be called once a database is open: V8 refuses what was compiled of the drivers under other flags. Where none is,
 * at once, as what is young grows early; a clouds.yaml then compiles its parser anew.
 */
export function keepYoungSmall(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
  // What is old may grow by 60 % between two marks, where other commands let it double: 104 MiB for 111.
  setFlagsFromString("--heap-growing-percent=60");
}
