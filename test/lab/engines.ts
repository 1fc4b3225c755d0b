import { test } from "node:test";
import type { Engine } from "../../src/model/database.ts";

/** Whether this process repeats the tests of a file on database servers. */
let onServers = false;

/**
 * Makes `engines` name the servers. A file `x.db.test.ts` imports `on-servers.ts` first and then `x.test.ts`,
 * whose tests of each engine then run on MariaDB and PostgreSQL and no other test of it runs again.
 */
export function repeatOnServers(): void {
  onServers = true;
}

/** The engines of this lane: SQLite, which needs no server, by default; the servers in the databases lane. */
export function engines<E extends Engine = Engine>(...all: readonly E[]): readonly E[] {
  const named: readonly Engine[] = all.length > 0 ? all : ["sqlite", "mysql", "postgresql"];
  // Without a list E is every engine.
  return named.filter((engine): engine is E => (engine !== "sqlite") === onServers);
}

/** A test that does not depend on the engine: the databases lane does not repeat it. */
export const testOnce: typeof test = Object.assign(
  (...args: Parameters<typeof test>) => (onServers ? Promise.resolve() : test(...args)),
  test,
);
