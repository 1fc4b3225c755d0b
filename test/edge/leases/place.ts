import type { TestContext } from "node:test";
import { loadNovaBm } from "../../../src/demo/load-case.ts";
import type { Database } from "../../../src/edge/database/open.ts";
import { extendSchema } from "../../../src/edge/leases/schema.ts";
import type { Engine } from "../../../src/model/database.ts";
import { SMALL } from "../../hostile/fleet.ts";
import { type TestDatabase, withDatabase } from "../../lab/index.ts";
import { openedAt } from "../../support/opened.ts";

export const ENGINES = ["sqlite", "mysql", "postgresql"] as const satisfies Engine[];

/** A nova_bm with a few machines. */
export async function novaBm(
  engine: Engine,
  t: TestContext,
  charset?: string,
): Promise<TestDatabase> {
  const made = await withDatabase(engine, t, charset);
  await loadNovaBm(made.db, engine, SMALL);
  return made;
}

/** The tool's own connection to it. */
export function opened(
  url: string,
  t: Pick<TestContext, "after">,
  autocommit = false,
): Promise<Database> {
  return openedAt(url, t, { readOnly: false, autocommit });
}

/** A nova_bm that was extended, and a connection that keeps leases in it. */
export async function leased(
  engine: Engine,
  t: TestContext,
): Promise<{ readonly made: TestDatabase; readonly database: Database }> {
  const made = await novaBm(engine, t);
  await extendSchema(await opened(made.url, t));
  return { made, database: await opened(made.url, t, true) };
}
