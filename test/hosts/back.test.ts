import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ends } from "../hostile/cli.ts";
import { hostCloud } from "./cloud.ts";

const DEAD = { H1: { forced_down: false, report_count: 7 } };
const TAKEOVER = ["host", "takeover", "--from", "H1", "--to", "H2", "--service-down-time", "100"];

test("a fenced host that ran once more is let back when it is silent again", async (t) => {
  const { host, db } = await hostCloud(t, { services: DEAD });
  await ends(0, host(...TAKEOVER, "--confirmed-down"));
  const counts = (by: number) =>
    db("services").where({ host: "H1" }).increment({ report_count: by });
  await counts(5);
  let running = true;
  const runs = (async () => {
    for (; running; await sleep(10)) await counts(1);
  })();
  const seen = await host("verify", "--queue-purged");
  const early = await host("host", "readmit", "H1", "--queue-purged", "--yes");
  running = false;
  await runs;
  assert.equal(seen.status, 2, seen.err);
  assert.match(seen.out, /nova-compute of H1 runs again/);
  assert.equal(early.status, 4, early.err);
  assert.match(early.err, /N2I-E319 nova-compute of H1 runs again: stop it first/);
  await ends(0, host("verify", "--queue-purged"));
  await ends(0, host("host", "readmit", "H1", "--queue-purged", "--yes"));
  const service = await db("services").where({ host: "H1" }).first("forced_down");
  assert.equal(Boolean(service.forced_down), false);
});
