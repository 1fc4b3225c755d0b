import assert from "node:assert/strict";
import { test } from "node:test";
import { ends } from "../hostile/cli.ts";
import { deadCloud, reportsOn, TAKE } from "./cloud.ts";

test("a fenced host that ran once more is let back when it is silent again", async (t) => {
  const { host, db } = await deadCloud(t);
  await ends(0, host(...TAKE, "--service-down-time", "100", "--confirmed-down"));
  await db("services").where({ host: "H1" }).increment({ report_count: 5 });
  const verify = () => host("verify", "--queue-purged");
  const readmit = () => host("host", "readmit", "H1", "--queue-purged", "--yes");
  const seen = await ends(2, reportsOn(db, verify));
  assert.match(seen.out, /nova-compute of H1 runs again/);
  const early = await ends(4, reportsOn(db, readmit));
  assert.match(early.err, /N2I-E319 nova-compute of H1 runs again: stop it first/);
  await ends(0, verify());
  await ends(0, readmit());
  const service = await db("services").where({ host: "H1" }).first("forced_down");
  assert.equal(Boolean(service.forced_down), false);
});
