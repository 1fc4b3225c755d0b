import assert from "node:assert/strict";
import { test } from "node:test";
import { deployed, readings, run, user } from "./deployed.ts";

/** Nothing listens there, and loopback says so. */
const CLOSED = "127.19.255.254";

test("--deadline bounds a closed port, whoever asks it and how often", async (t) => {
  const nodes = [1, 2, 3].map((id) => ({ id, pm_address: CLOSED }));
  const at = await deployed(t, [{ users: user(1) }], { nova_bm: { nodes } });
  const began = performance.now();
  const asked = await run(at.folder, ["power", "--run", "run", "--deadline", "3"]);
  const seconds = (performance.now() - began) / 1000;
  assert.equal(asked.code, 3, asked.err);
  assert.ok(seconds > 3 && seconds < 6, `${seconds} s`);
  const verdicts = readings(at.folder).flatMap(({ bm_node_ids, verdict }) =>
    bm_node_ids.map((id) => [id, verdict]),
  );
  assert.deepEqual(verdicts, [
    [1, "port-closed"],
    [2, "port-closed"],
    [3, "port-closed"],
  ]);
});
