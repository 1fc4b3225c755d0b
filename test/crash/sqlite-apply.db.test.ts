import { test } from "node:test";
import { killApplies, prepared } from "./matrix.ts";
import { APPLYING, isOnce } from "./points.ts";

test("on SQLite an apply may be killed at any moment", async (t) => {
  const scene = await prepared("sqlite", t);
  if (scene !== null) await killApplies(t, scene, APPLYING.filter(isOnce));
});
