import { test as nodeTest } from "node:test";
import type { Engine } from "../../src/model/database.ts";

/** Whether this process repeats the tests of a file on database servers, and a loop over engines makes its tests now. */
let [onServers, inLoop] = [false, false];

/**
 * Makes `engines` name the servers. A file `x.db.test.ts` imports `on-servers.ts` first and then `x.test.ts`,
 * whose tests of each engine then run on MariaDB and PostgreSQL and no other test of it runs again.
 */
export function repeatOnServers(): void {
  onServers = true;
}

/** The engines of this lane: SQLite, which needs no server, by default; the servers in the databases lane. */
export function* engines<E extends Engine = Engine>(...all: readonly E[]): Generator<E> {
  const named: readonly Engine[] = all.length > 0 ? all : ["sqlite", "mysql", "postgresql"];
  // Without a list E is every engine.
  for (const engine of named as readonly E[])
    if ((engine !== "sqlite") === onServers) {
      inLoop = true;
      try {
        yield engine;
      } finally {
        inLoop = false;
      }
    }
}

/** Outside of a loop over engines a test does not depend on the engine: the databases lane does not repeat it. */
export const test: typeof nodeTest = Object.assign(
  (...args: Parameters<typeof nodeTest>) =>
    onServers && !inLoop ? Promise.resolve() : nodeTest(...args),
  nodeTest,
);
