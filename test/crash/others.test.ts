import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Engine } from "../../src/model/database.ts";
import { type Ran, run as runTool, type Started, start } from "../hostile/cli.ts";
import { whileItWaits } from "../lab/bmc/quick-clock.ts";
import { engines, test } from "../lab/engines.ts";
import { copyFolder } from "../support/copy-folder.ts";
import { fleet, fleetUuid } from "../support/fleet.ts";
import { type Scene, scene } from "../support/scene.ts";
import { DEEDS } from "./hands.ts";
import { ALL, YES } from "./matrix.ts";
import { ends, killedAt, statusOf } from "./truth.ts";

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
      new RegExp(`^Rollback: \\d+ rows removed, 2 already deleted, ${2 * kept} left`, "m"),
    );
    const still = `${2 * kept} rows of ${kept} machines are still in Ironic`;
    const { apply, next } = await statusOf(made);
    assert.match(apply, new RegExp(`, ${2 * kept} rows left by rollback; ${still}$`));
    assert.match(next, new RegExp(`^nova2ironic rollback .*--all {2}# ${still}$`));
    const ports = await made.sql((db) => db("ports").count({ n: "*" }).first());
    // Ironic's own, those of the machines that are left, and the one that was added.
    assert.equal(Number(ports?.n), 1 + kept + 1);
  });

test("the next rollback removes skipped rows after the manual changes are reverted", async (t) => {
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

test("a rollback of one machine takes that machine alone", async (t) => {
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

const ROWS = 12;

function copied(made: Scene, name: string): Pick<Scene, "start" | "does"> {
  const run = join(made.folder, name);
  copyFolder(made.run, run);
  const words = (command: string, more: readonly string[]): readonly string[] => [
    ...[command, "--run", run, ...made.ironic, ...more],
  ];
  return {
    start: (command, more = []) => start(words(command, more)),
    does: (command, more = []): Promise<Ran> => runTool(words(command, more)),
  };
}

/** An apply that holds every lock, before its first commit. */
async function holding(made: Scene): Promise<Started> {
  const started = made.start("apply", YES, "commit.before:1:pause");
  await started.said("failpoint commit.before");
  return started;
}

for (const engine of engines())
  test(`on ${engine}, one run at a time writes to one Ironic`, async (t) => {
    const made = await scene(engine, t, fleet(ROWS / 2));
    const before = await made.digest();
    const other = copied(made, "other");
    const runs = ["one", "two", "three"].map((name) => copied(made, name));

    await t.test("of two that load one snapshot at once, one is kept out", async () => {
      const first = await holding(made);
      const { err } = await ends(11, other.does("apply", YES));
      assert.match(err, /^ERROR N2I-E302 .*another nova2ironic process is writing to it/m);
      first.signal("SIGUSR2");
      await ends(0, first);
    });

    await t.test("later the other finds every row, and none is its own to take back", async () => {
      const after = await made.digest();
      const { out } = await ends(0, other.does("apply", YES));
      assert.match(out, new RegExp(`^Apply: 0 rows created, ${ROWS} unchanged`, "m"));
      await ends(0, other.does("rollback", ALL));
      assert.equal(await made.digest(), after);
    });

    await t.test("a rollback keeps an apply out", async () => {
      const undoing = made.start("rollback", ALL, "commit.before:1:pause");
      await undoing.said("failpoint commit.before");
      await ends(11, other.does("apply", YES));
      undoing.signal("SIGUSR2");
      await ends(0, undoing);
      assert.equal(await made.digest(), before);
    });

    await t.test("of three that start together, every row is loaded once", async () => {
      const ran = await Promise.all(runs.map((each) => each.start("apply", YES).ended));
      const told = ran.map(({ status, err }) => `exit ${status}\n${err}`).join("\n");
      assert.ok(
        ran.every(({ status }) => status === 0 || status === 11),
        told,
      );
      const created = ran.flatMap(({ out }) => out.match(/^Apply: (\d+) rows created/m)?.[1] ?? []);
      const sum = created.reduce((rows, more) => rows + Number(more), 0);
      assert.equal(sum, ROWS, told);
      await ends(0, made.does("verify"));
    });
  });

/** Inserts a node and its port as Ironic does, without ids, and takes them away again. */
async function ironicInserts({ sql }: Scene) {
  return sql(async (db) => {
    const max = await db("nodes").max({ id: "id" }).first();
    const uuid = randomUUID();
    await db("nodes").insert({ uuid, driver: "fake" });
    const made = await db("nodes").where({ uuid }).first("id");
    await db("ports").insert({ uuid, address: "52:54:ff:00:00:99", node_id: made?.id });
    await db("ports").where({ uuid }).delete();
    await db("nodes").where({ uuid }).delete();
    return { id: Number(made?.id), max: Number(max?.id) };
  });
}

for (const engine of engines())
  test(`on ${engine}, Ironic numbers its next node past ours at every moment`, async (t) => {
    const made = await scene(engine, t, fleet(6));
    const numbersOn = async (): Promise<void> => {
      const { id, max } = await ironicInserts(made);
      assert.ok(id > max, `the next node is ${id}, and there is ${max}`);
    };
    await numbersOn();
    await killedAt(made, "commit.before:1", "apply", YES);
    await numbersOn();
    await ends(0, made.does("apply", YES));
    await numbersOn();
    await ends(0, made.does("verify"));
    await ends(0, made.does("rollback", ALL));
    await numbersOn();
    await ends(0, made.does("apply", YES));
    await numbersOn();
  });
