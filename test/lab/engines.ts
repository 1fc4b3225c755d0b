import { test } from "node:test";
import type { Engine } from "../../src/model/database.ts";
import type { ServerEngine } from "./binaries.ts";

/** What the tests of each engine run on in the file that is being loaded. */
let here: readonly Engine[] = ["sqlite"];

/**
 * Makes `engines` name MariaDB. A file `x.db.test.ts` imports `on-servers.ts` first and then `x.test.ts`, whose
 * tests of each engine then run on MariaDB; tests that name their engines run on each server they name; no other
 * test of it runs again.
 */
export function repeatOnServers(): void {
  here = ["mysql"];
}

/** The same for a file in which MariaDB and PostgreSQL differ: its tests of each engine run on both. */
export async function repeatOnBoth(load: () => Promise<unknown>): Promise<void> {
  const before = here;
  const both: readonly ServerEngine[] = ["mysql", "postgresql"];
  here = both;
  await load();
  here = before;
}

/** The engines of this lane: SQLite, which needs no server, by default; servers in the databases lane. */
export function engines<E extends Engine = Engine>(...all: readonly E[]): readonly E[] {
  // Without a list E is every engine.
  if (all.length === 0) return here as readonly E[];
  return all.filter((engine) => (engine !== "sqlite") === onServers());
}

function onServers(): boolean {
  return !here.includes("sqlite");
}

/** A test that does not depend on the engine, so that the databases lane does not repeat it. */
export const testOnce: typeof test = Object.assign(
  (...args: Parameters<typeof test>) => (onServers() ? Promise.resolve() : test(...args)),
  test,
);
