import { readDatabaseAddress } from "../systems/database/database-address.ts";
import { type Database, openDatabase } from "../systems/database/open.ts";
import { processContext, waitingFor } from "./process-context.ts";

/** Databases by option, each with its own credentials. */
export const ROLES = {
  "nova-bm-db": { option: "--nova-bm-db", section: "baremetal", key: "sql_connection" },
  "nova-db": { option: "--nova-db", section: "database", key: "connection" },
  "ironic-db": { option: "--ironic-db", section: "database", key: "connection" },
  "nova-api-db": { option: "--nova-api-db", section: "api_database", key: "connection" },
  "placement-db": { option: "--placement-db", section: "placement_database", key: "connection" },
} as const;

/**
 * Opens the database of an option. A rehearsal opens only copies of the plan's databases.
 * @throws MigrationError N2I-E100 to N2I-E102, N2I-E200, N2I-E201, N2I-E202, N2I-E216
 */
export async function openRole(
  role: keyof typeof ROLES,
  spec: string | undefined,
  options: { readonly readOnly: boolean; readonly autocommit?: boolean },
): Promise<Database> {
  const { copies, env, report, databaseTimeout: limit = 120_000 } = processContext();
  const originalOf = copies?.get(role);
  if (copies !== undefined && originalOf === undefined)
    throw new Error(`a rehearsal has no copy of ${role}`);
  const address = await readDatabaseAddress(spec, ROLES[role], env);
  const opened = await waitingFor(`opening ${ROLES[role].option}`, () =>
    openDatabase(address, { ...options, timeout: { limit, report } }),
  );
  return originalOf === undefined ? opened : { ...opened, originalOf };
}

interface Closable {
  /** May return a promise. */
  readonly close: () => unknown;
}

/** Registers a connection to be closed. */
export type Keep = <T extends Closable>(opened: T) => T;

/** Closes the registered connections in reverse order. Of several failures, throws the first. */
export async function closing<T>(work: (keep: Keep) => Promise<T>): Promise<T> {
  const closables: Closable[] = [];
  let result: T;
  try {
    result = await work((opened) => {
      closables.push(opened);
      return opened;
    });
  } catch (cause) {
    await closeAll(closables).catch(() => undefined); // the error of the work is more useful
    throw cause;
  }
  await closeAll(closables);
  return result;
}

/** Continues after a failure, because the remaining databases hold locks and connections. */
async function closeAll(closables: readonly Closable[]): Promise<void> {
  const failures: unknown[] = [];
  for (const opened of closables.toReversed())
    try {
      await opened.close();
    } catch (cause) {
      failures.push(cause);
    }
  if (failures.length > 0) throw failures[0];
}
