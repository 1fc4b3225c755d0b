import { test } from "node:test";
import { killApplies, killRollbacks, prepared } from "./matrix.ts";
import { APPLYING, isOnce, UNDOING } from "./points.ts";

test("on MariaDB an apply and a rollback may be killed at any moment", async (t) => {
  const scene = await prepared("mysql", t);
  await killApplies(t, scene, APPLYING.filter(isOnce));
  await killRollbacks(t, scene, UNDOING.filter(isOnce));
});
