import type { TestContext } from "node:test";
import type { DatabaseAddress } from "../../src/model/database.ts";
import { readDatabaseAddress } from "../../src/systems/database/database-address.ts";
import { type Database, openDatabase } from "../../src/systems/database/open.ts";

/** The address in a URL as the tool reads it. */
export function addressAt(url: string): Promise<DatabaseAddress> {
  const role = { option: "--db", section: "database", key: "connection" };
  return readDatabaseAddress("env:URL", role, { URL: url });
}

/** The database at a URL as the tool opens it, until the test ends. */
export async function openedAt(
  url: string,
  t: Pick<TestContext, "after">,
  options: Parameters<typeof openDatabase>[1] = { readOnly: false },
): Promise<Database> {
  const database = await openDatabase(await addressAt(url), options);
  t.after(() => database.close());
  return database;
}
