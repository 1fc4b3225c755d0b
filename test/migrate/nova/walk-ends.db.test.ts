import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ends, killedAt, run, runs, start } from "../../hostile/cli.ts";
import { deployFiles, extractAndPlan } from "../../hostile/deployment.ts";
import { SITE, tenant } from "../../hostile/fleet.ts";
import { computeStarts, conductorsStart, planned, walk } from "./walking.ts";

test("a run that is ended while it waits, by Ctrl-C or a lost terminal, goes on", async (t) => {
  const made = await planned(t);
  const words = ["run", ...made.at, "--yes", "--watch", "0"];
  for (const [signal, status] of [
    ["SIGINT", 130],
    ["SIGHUP", 143],
  ] as const) {
    const walking = start(words);
    await walking.said("start every ironic-conductor");
    walking.signal(signal);
    assert.equal((await walking.ended).status, status, signal);
  }
  await conductorsStart(made);
  await computeStarts(made);
  await ends(0, walk(made));
  assert.equal((await made.ironic.db("nodes")).length, 4);
});

test("a run that dies amid the load goes on with the load, and is at its end where another would be", async (t) => {
  const made = await planned(t);
  const words = ["run", ...made.at, "--yes", "--wait", "0", "--watch", "0"];
  await killedAt("done.before:1", words);
  await conductorsStart(made);
  const loaded = await ends(0, walk(made, "--until", "takeover"));
  assert.match(loaded.err, /Stopped before final/);
  assert.match((await runs(0, ["verify", ...made.at])).err, /0 mismatched, 0 missing/);
});

test("a staged load is handed over once a conductor is alive", async (t) => {
  const root = { match: {}, set: { root_uuid: "c0000000-0000-4000-8000-000000000001" } };
  const made = await deployFiles(t, {
    shows: "a tenant, staged",
    nova_bm: { nodes: [tenant(1)] },
    ironic: { release: "kilo" },
    allow_pairing: true,
    site: { ...SITE, machines: [...SITE.machines, root] },
  });
  const { at, ironic } = made;
  await extractAndPlan(made, ...made.source.slice(2, 4));
  const words = ["run", ...at, "--staged", "--watch", "0"];
  const none = await run([...words, "--yes", "--wait", "0"]);
  assert.match(none.err, /N2I-E328 .*start every ironic-conductor; none is alive/);
  const alive = { hostname: "cond-1", updated_at: "2099-01-01 00:00:00", online: true };
  await ironic.db("conductors").insert({ id: 1, drivers: '["pxe_ipmitool"]', ...alive });
  const walking = run([...words, "--yes", "--wait", "60", "--until", "handover"]);
  const nodes = () => ironic.db("nodes");
  while ((await nodes().where({ maintenance: true })).length > 0) await sleep(50);
  await nodes().update({ conductor_affinity: 1 });
  const ended = await ends(0, walking);
  assert.match(`${ended.out}${ended.err}`, /1 machine released now, 1 handed over/);
  // Nobody is asked to start conductors that have the machines.
  const taken = await ends(0, run([...words, "--until", "takeover"]));
  assert.match(taken.err, /Stage 8 of 10: takeover\./);
});
