import { test } from "node:test";
import { cutApplies, cutRollbacks, goesBack } from "./cut.ts";
import { prepared } from "./matrix.ts";
import { APPLYING, once, UNDOING } from "./points.ts";

test("on PostgreSQL the connection may be lost at any moment", async (t) => {
  const scene = await prepared("postgresql", t, { proxy: true });
  if (scene === null) return;
  await cutApplies(t, scene, "cut", once(APPLYING));
  await cutRollbacks(t, scene, "cut", once(UNDOING));
  await goesBack(t, scene);
  await cutApplies(t, scene, "killed by the server", once(APPLYING));
});
