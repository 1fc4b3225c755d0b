import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Engine } from "../../src/model/database.ts";
import { ends, killedAt, run } from "../hostile/cli.ts";
import { MOVE, uuidOf } from "./cloud.ts";
import { legacyCloud } from "./legacy-cloud.ts";
import { asked, bootFile, DOWN, dead, PLAN, ROW, THERE, trees, words } from "./legacy-trees.ts";

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

interface Dying {
  readonly engine: Engine;
  /** Where a move is killed, which then goes on, or back. */
  readonly deaths: readonly string[];
  /** Where a rollback is killed, which then goes on. */
  readonly backDeaths: readonly string[];
}

/** Kills moves of two machines at these points; the same words then end each of them. */
export async function killed(t: TestContext, { engine, deaths, backDeaths }: Dying): Promise<void> {
  const cloud = await legacyCloud(t, { engine, machines: 2 });
  const { own, words } = trees(cloud, [1]);
  const { bm, folder, places } = cloud;
  const before = await cloud.dump();
  const runOf = (name: string) => ["--run", join(folder, "runs", name)];
  const does = (name: string, ...to: readonly string[]) =>
    ends(0, cloud.host(...to, ...runOf(name)));
  const dies = async (name: string, point: string, ...said: readonly string[]): Promise<void> => {
    const more = said[0] === "host" ? places : places.slice(2);
    await killedAt(point, [...said, ...runOf(name), ...more]);
  };
  const returned = async (point: string): Promise<void> => {
    assert.equal(await cloud.dump(), before, point);
    assert.ok(!existsSync(join(own, uuidOf("instance", 1))), point);
    await bm("bm_nodes").whereIn("id", [1, 2]).update({ service_epoch: 0 });
    // Of who died before anything was begun they expire by themselves.
    await bm("bm_locks").update({ expires_ms: 0 });
  };
  const BACK = ["rollback", "--all", "--yes"];
  for (const [at, point] of deaths.entries()) {
    const name = `on-${at}`;
    await does(name, ...PLAN, ...words);
    await dies(name, point, ...MOVE);
    await does(name, ...MOVE);
    assert.deepEqual((await cloud.rows()).machines.slice(0, 2), THERE.slice(0, 2), point);
    const config = join(own, uuidOf("instance", 1), "config");
    assert.equal(readFileSync(config, "latin1"), bootFile(1, own));
    await does(name, ...BACK);
    await returned(point);
    const alone = `alone-${at}`;
    await does(alone, ...PLAN, ...words);
    await dies(alone, point, ...MOVE);
    await does(alone, ...BACK);
    await returned(`${point}, taken back`);
  }
  for (const [at, point] of backDeaths.entries()) {
    const name = `undo-${at}`;
    await does(name, ...PLAN, ...words);
    await does(name, ...MOVE);
    await dies(name, point, ...BACK);
    await does(name, ...BACK);
    await returned(`${point}, on the way back`);
  }
}
