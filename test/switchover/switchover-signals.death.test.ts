import assert from "node:assert/strict";
import { test } from "node:test";
import { start } from "../hostile/cli.ts";
import { PLAN } from "./scene.ts";
import { SPARE } from "./switch-memory.ts";
import { commandScene } from "./switch-served.ts";

test("Ctrl-C ends the program with 130 at the end of a step, and the same command goes on", async (t) => {
  const { cloud, own } = await commandScene(t);
  const words = ["node", "switchover", "n-1", "s-1", ...own];
  const first = start(words);
  await first.said("DST_MANAGEABLE");
  first.signal("SIGINT");
  const { status, err } = await first.ended;
  assert.equal(status, 130, err);
  assert.equal(cloud.nodes.get(SPARE)?.instance_uuid, null);
  const { status: then } = await start(words).ended;
  assert.equal(then, 0);
  assert.deepEqual(cloud.told, ["n-1 soft", "n-1 on"]);
  assert.equal(cloud.nodes.get(SPARE)?.instance_uuid, PLAN.instance_uuid);
});
