import { test } from "node:test";
import { killApplies, killRollbacks, prepared } from "./matrix.ts";
import { APPLYING, once, UNDOING } from "./points.ts";

test("on MariaDB an apply and a rollback may be killed at any moment", async (t) => {
  const scene = await prepared("mysql", t);
  if (scene === null) return;
  await killApplies(t, scene, once(APPLYING));
  await killRollbacks(t, scene, once(UNDOING));
});
