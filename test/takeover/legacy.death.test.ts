import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { ends, killedAt, run } from "../hostile/cli.ts";
import { asked, DOWN, dead, ROW, words } from "./legacy-dead.ts";
import { killed } from "./legacy-deaths.ts";

const deaths = [
  ...["start.before:1", "start.after:1", "legacy.guarded:1", "legacy.claimed:1", "boot.step:2"],
  ...["boot.step:7", "legacy.built:1", "nova.commit.before:2", "nova.commit.after:2"],
  ...["legacy.served:1", "legacy.released:1", "end.before:1", "end.after:1", "start.before:2"],
];
const backDeaths = [
  "return.before:1",
  "return.after:1",
  "legacy.claimed:1",
  "nova.commit.after:2",
  "legacy.released:2",
  "returned.before:1",
  "returned.after:2",
];

const COMMITS = /nova\.commit|claimed/;
const around = (points: readonly string[]) => points.filter((point) => COMMITS.test(point));

test("on sqlite, a move of nova-baremetal that is killed at any point goes on by the same words, or back", async (t) => {
  await killed(t, { engine: "sqlite", deaths, backDeaths });
});

for (const engine of ["mysql", "postgresql"] as const)
  test(`on ${engine}, a move of nova-baremetal that is killed around a commit goes on by the same words, or back`, async (t) => {
    await killed(t, { engine, deaths: around(deaths), backDeaths: around(backDeaths) });
  });

/** Kills a takeover of a fenced host, whose tenant's request is taken for lost; it goes on, or back. */
for (const [goes, point, to, asks] of [
  ["on", "legacy.claimed", "B", null],
  // What was never touched has its request still.
  ["back", "nova.commit.before", "A", "powering-off"],
] as const)
  test(`a takeover by hand that is killed at ${point} goes ${goes}`, async (t) => {
    const cloud = await dead(t);
    const { bm, folder, places, host, nova } = cloud;
    await bm("bm_service_leases").insert(ROW);
    const said = [...words(cloud, 1), ...DOWN, ...(await asked(cloud))];
    const own = ["--run", join(folder, "runs", "h1")];
    await killedAt(`${point}:1`, [...said, ...own, ...places]);
    assert.notEqual((await bm("bm_service_leases").first()).fenced_by, null);
    const next = (await host("status")).err;
    assert.match(next, /^Next: nova2ironic host takeover .*--from A --to B/m);
    // What it was given of databases, its run keeps.
    await ends(0, goes === "on" ? run([...said, ...own]) : host("rollback", "--all", "--yes"));
    const row = await nova("instances").where({ id: 1 }).first();
    assert.deepEqual([row.host, row.task_state, Boolean(row.locked)], [to, asks, false]);
    assert.equal(Number((await bm("bm_service_leases").first()).epoch), 4, "fenced once");
  });
