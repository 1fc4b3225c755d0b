import { test } from "node:test";
import { cutApplies, cutBeforeVerify, cutRollbacks, goesBack } from "./cut.ts";
import { prepared } from "./matrix.ts";
import { APPLYING, isOnce, UNDOING } from "./points.ts";

test("on PostgreSQL the connection may be lost at any moment", async (t) => {
  const scene = await prepared("postgresql", t, { proxy: true });
  await cutApplies(t, scene, "cut", APPLYING.filter(isOnce));
  await cutRollbacks(t, scene, "cut", UNDOING.filter(isOnce));
  await goesBack(t, scene);
  await cutBeforeVerify(t, scene);
  const some = APPLYING.filter(({ name }) => /^(begin.after|commit)/.test(name)).filter(isOnce);
  await cutApplies(t, scene, "killed by the server", some);
});
