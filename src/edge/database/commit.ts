import type { Knex } from "knex";

/** knex's commit() succeeds whatever the server says; its other promise tells a commit that failed. */
export async function committed(trx: Knex.Transaction): Promise<void> {
  await trx.commit();
  await trx.executionPromise;
}
