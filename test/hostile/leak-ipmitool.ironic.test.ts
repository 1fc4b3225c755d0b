import assert from "node:assert/strict";
import { test } from "node:test";
import { deploySecrets } from "./secrets-case.ts";

test("asking BMCs that do not answer tells and keeps no secret when ipmitool asks", async (t) => {
  const made = await deploySecrets("sqlite", t);
  const { at, source } = made;
  // Ports of this machine where nothing listens; each its own address, as one is asked after another.
  for (const id of [1, 2, 4, 5, 6])
    await made.bm
      .db("bm_nodes")
      .where({ id })
      .update({ pm_address: `127.0.9.${id}` });
  await made.tried(["extract", ...at, ...source]);
  const words = ["power", ...at, "--ipmi-client", "ipmitool", "--deadline", "1", "--list"];
  const { leaks, status, err } = await made.tried([...words, "--debug", "-f", "json"]);
  assert.deepEqual(leaks, []);
  assert.equal(status, 3, err);
});
