import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Engine } from "../../src/model/database.ts";
import { whileItWaits } from "../lab/bmc/quick-clock.ts";
import { engines, testOnce } from "../lab/engines.ts";
import { fleet, fleetUuid } from "../support/fleet.ts";
import { type Scene, scene } from "../support/scene.ts";
import { DEEDS } from "./hands.ts";
import { ALL, YES } from "./matrix.ts";
import { ends, statusOf } from "./truth.ts";

/** A lock that nobody lets go is not waited for. */
const AT_ONCE = ["--lock-wait", "0"];

/** A loaded 2023.1 fleet, a machine for each deed, with a conductor that was there before. */
async function loaded(engine: Engine, t: TestContext): Promise<Scene & { before: string }> {
  const made = await scene(engine, t, fleet(DEEDS.length, "2023.1"));
  await made.sql((db) =>
    db("conductors").insert({ hostname: "conductor-1", online: true, conductor_group: "" }),
  );
  const before = await made.digest();
  await ends(0, made.does("apply", YES));
  return { ...made, before };
}

/** Rows of the machine that are there: its node, and all the ports and others that are its own. */
async function nodeIds({ sql }: Scene): Promise<ReadonlyMap<string, number>> {
  const rows = await sql((db) => db("nodes").select("id", "uuid"));
  return new Map(rows.map(({ id, uuid }) => [String(uuid), Number(id)]));
}

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, a rollback leaves and lists what somebody worked on`, async (t) => {
    const made = await loaded(engine, t);
    const ids = await nodeIds(made);
    const machines = DEEDS.map(([what, work, left], at) => {
      const uuid = fleetUuid(at + 1);
      return { what, work, left, uuid, id: ids.get(uuid) ?? 0 };
    });
    await made.sql(async (db) => {
      for (const { work, uuid, id } of machines) await work({ db, uuid, id });
    });
    const { out, err } = await ends(2, made.does("rollback", [...ALL, ...AT_ONCE, "-f", "csv"]));
    const there = await nodeIds(made);
    for (const { what, uuid, left } of machines)
      await t.test(`${left === null ? "removed" : "left"} although ${what}`, () => {
        const line = out.split("\n").find((text) => text.includes(`node:${uuid}`));
        if (left === null) assert.equal(line, undefined);
        else assert.match(line ?? "", left);
        assert.equal(there.has(uuid), left !== null);
      });
    const kept = DEEDS.filter(([, , left]) => left !== null).length;
    assert.match(
      err,
      new RegExp(`^Rollback: \\d+ rows removed, 2 gone already, ${2 * kept} left`, "m"),
    );
    const still = `${2 * kept} rows of ${kept} machines are in Ironic still`;
    const { apply, next } = await statusOf(made);
    assert.match(apply, new RegExp(`, ${2 * kept} rows left by rollback; ${still}$`));
    assert.match(next, new RegExp(`^nova2ironic rollback .*--all {2}# ${still}$`));
    const ports = await made.sql((db) => db("ports").count({ n: "*" }).first());
    // Ironic's own, those of the machines that are left, and the one that was added.
    assert.equal(Number(ports?.n), 1 + kept + 1);
  });

testOnce("what was left goes with the next rollback, once the hand's work is undone", async (t) => {
  const made = await loaded("sqlite", t);
  const uuid = fleetUuid(2);
  const set = (state: string | null): Promise<unknown> =>
    made.sql(async (db) => {
      await db.raw("PRAGMA busy_timeout = 5000");
      return await db("nodes").where({ uuid }).update({ reservation: state });
    });
  await set("conductor-1");
  await ends(2, made.does("rollback", [...ALL, ...AT_ONCE]));
  const free = () => set(null);
  await ends(
    0,
    whileItWaits(free, () => made.does("rollback", ALL)),
  );
  assert.equal(await made.digest(), made.before);
});

testOnce("a rollback of one machine takes that machine alone", async (t) => {
  const made = await loaded("sqlite", t);
  const after = await made.digest();
  await ends(0, made.does("rollback", ["--node", fleetUuid(2), "--node", "3", ...YES]));
  const there = await nodeIds(made);
  for (const [at] of DEEDS.entries())
    assert.equal(there.has(fleetUuid(at + 1)), at + 1 !== 2 && at + 1 !== 3);
  await ends(0, made.does("apply", YES));
  assert.equal(await made.digest(), after);
  const rows = 2 * DEEDS.length;
  assert.match((await statusOf(made)).apply, new RegExp(`: ${rows} rows created in 1 batch$`));
  await ends(0, made.does("rollback", ALL));
  assert.equal(await made.digest(), made.before);
});
