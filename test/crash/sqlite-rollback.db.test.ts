import { test } from "node:test";
import { killRollbacks, prepared } from "./matrix.ts";
import { isOnce, UNDOING } from "./points.ts";

test("on SQLite a rollback may be killed at any moment", async (t) => {
  const scene = await prepared("sqlite", t);
  if (scene !== null) await killRollbacks(t, scene, UNDOING.filter(isOnce));
});
