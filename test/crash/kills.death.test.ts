import { test } from "node:test";
import { killApplies, killRollbacks, prepared } from "./matrix.ts";
import { APPLYING, UNDOING } from "./points.ts";

// Those of SQLite and MariaDB are in kills.db.test.ts.
test("on postgresql, an apply and a rollback may be killed at any moment", async (t) => {
  const scene = await prepared("postgresql", t);
  await killApplies(t, scene, APPLYING);
  await killRollbacks(t, scene, UNDOING);
});
