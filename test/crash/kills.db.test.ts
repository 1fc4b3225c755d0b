import { test } from "node:test";
import { killApplies, killRollbacks, prepared } from "./matrix.ts";
import { APPLYING, UNDOING } from "./points.ts";

// PostgreSQL's are in kills.death.test.ts.
for (const engine of ["sqlite", "mysql"] as const)
  test(`on ${engine}, an apply and a rollback may be killed at any moment`, async (t) => {
    const scene = await prepared(engine, t);
    await killApplies(t, scene, APPLYING);
    await killRollbacks(t, scene, UNDOING);
  });
