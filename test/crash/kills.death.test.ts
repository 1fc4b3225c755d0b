import { test } from "node:test";
import { killApplies, killRollbacks, prepared } from "./matrix.ts";
import { APPLYING, UNDOING } from "./points.ts";

// SQLite's are in kills.db.test.ts.
for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, an apply and a rollback may be killed at any moment`, async (t) => {
    const scene = await prepared(engine, t);
    await killApplies(t, scene, APPLYING);
    await killRollbacks(t, scene, UNDOING);
  });
