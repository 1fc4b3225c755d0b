import assert from "node:assert/strict";
import { test } from "node:test";
import { ends } from "../hostile/cli.ts";
import { engines } from "../lab/engines.ts";
import { hostCloud } from "./cloud.ts";

const HERE = ["1 H1 NULL H1", "2 H1 NULL -", "3 H1 NULL H1", "4 H1 NULL -"];
const THERE = ["1 H2 NULL H2", "2 H2 NULL -", "3 H2 NULL H2", "4 H2 NULL -"];
/** Nobody waits a minute to see that a host is silent. */
const QUICK = ["--service-down-time", "0.1"];
const OTHERS = ["9000001 H2 NULL -", "9000002 H3 NULL -"];

for (const engine of engines())
  test(`on ${engine}, machines of a fenced host go to another and come back`, async (t) => {
    const { host, owners, services, db } = await hostCloud(t, { engine });
    const before = await db("instances").orderBy("id");
    const said = await services();
    const planned = await ends(0, host("host", "plan", "--from", "H1", "--to", "H2", ...QUICK));
    assert.match(planned.out, /Plan: 4 of 4 machines to move \(4 compute nodes, 2 instances\)/);
    assert.match((await host("status")).err, /^Next: nova2ironic host move --run/m);
    await ends(2, host("verify", "--queue-purged"));
    const moved = await ends(0, host("host", "move", "--yes"));
    assert.match(moved.err, /rabbitmqctl purge_queue compute\.H1/);
    assert.deepEqual(await owners(), [...THERE, ...OTHERS]);
    const unseen = await ends(2, host("verify"));
    assert.match(unseen.out, /compute\.H1 .*not looked at/);
    await ends(0, host("verify", "--queue-purged"));
    const again = await host("host", "move", "--yes");
    assert.match(again.out, /0 rows changed, 6 so already/);
    const shown = await host("rollback", "--all", "--plan");
    assert.match(shown.out, /would restore 6 rows and leave 0/, shown.err);
    await ends(0, host("rollback", "--all", "--yes"));
    assert.deepEqual(await owners(), [...HERE, ...OTHERS]);
    assert.deepEqual(await db("instances").orderBy("id"), before);
    assert.deepEqual(await services(), said);
    assert.match((await host("status")).err, /taken back/);
  });

for (const engine of engines())
  test(`on ${engine}, a dead host is fenced on its own row, its machines taken over, and all of it undone`, async (t) => {
    const alive = { H1: { forced_down: false, report_count: 7 } };
    const { host, owners, services } = await hostCloud(t, { engine, services: alive });
    const said = await services();
    const words = ["host", "takeover", "--from", "H1", "--to", "H2", "--service-down-time", "0.1"];
    assert.match((await host(...words, "--yes")).err, /--yes does not say that H1 is down/);
    assert.deepEqual(await services(), said);
    const taken = await ends(0, host(...words, "--confirmed-down"));
    assert.match(taken.out, /Host move: 1 hosts fenced, 6 rows changed/);
    assert.deepEqual(await owners(), [...THERE, ...OTHERS]);
    const [h1] = await services();
    assert.deepEqual([Boolean(h1?.forced_down), h1?.disabled_reason], [true, "nova2ironic h1"]);
    const refused = await ends(4, host("host", "readmit", "H1", "--yes"));
    assert.match(refused.err, /N2I-E319 whether compute\.H1 is empty is not known/);
    await ends(0, host("rollback", "--all", "--yes"));
    assert.deepEqual(await owners(), [...HERE, ...OTHERS]);
    assert.deepEqual(await services(), said);
  });
