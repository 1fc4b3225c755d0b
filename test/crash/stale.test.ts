import assert from "node:assert/strict";
import {
  cpSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Knex } from "knex";
import { caseMac } from "../cases/case.ts";
import { runs } from "../hostile/cli.ts";
import { SMALL, smallBatches } from "../support/batches.ts";
import { fleet, fleetUuid } from "../support/fleet.ts";
import { type Scene, scene } from "../support/scene.ts";
import { ALL, YES } from "./matrix.ts";
import { ends, loadedRows, statusOf } from "./truth.ts";

const MACHINES = 4;
/** Of the node and the port that Ironic held before. */
const NATIVE = "f0000000-0000-4000-8000-000000000001";

const alembic = (head: string) => (db: Knex) => db("alembic_version").update({ version_num: head });

function portUuid({ run }: Scene, machine: number): string {
  const plan = readFileSync(join(run, "plan", "machines.jsonl"), "utf8");
  const line = plan.split("\n").find((text) => text.startsWith(`{"bm_node_id":${machine},`));
  const uuid = line?.match(/"id":"port:([^"]+)"/)?.[1];
  assert.ok(uuid);
  return uuid;
}

async function addPort(db: Knex, uuid: string, address: string): Promise<void> {
  const node = await db("nodes").where({ uuid: NATIVE }).first("id");
  await db("ports").insert({ uuid, address, node_id: node?.id, extra: "{}" });
}

/** What changed, read on from "is refused when", and how that is refused. */
const CHANGES: readonly (readonly [string, (scene: Scene) => Promise<unknown>, RegExp])[] = [
  [
    "the alembic head is another",
    ({ sql }) => sql(alembic("2fb93ffd2af1")),
    /N2I-E204 .*nodes does not match kilo: it lacks /,
  ],
  [
    "the alembic head is unknown",
    ({ sql }) => sql(alembic("ffffffffffff")),
    /N2I-E204 .*is at alembic head ffffffffffff \(unknown here\)/,
  ],
  [
    "the snapshot is a newer one",
    ({ run, source }) => runs(0, ["extract", "--run", run, ...source]),
    /N2I-E300 the snapshot is not the one the plan was made from/,
  ],
  [
    "somebody made a node with a uuid of the plan",
    ({ sql }) =>
      sql((db) => db("nodes").insert({ uuid: fleetUuid(3), driver: "fake", extra: "{}" })),
    new RegExp(
      `N2I-E300 1 row now conflicts with the plan: .*node:${fleetUuid(3)}: .*did not load`,
    ),
  ],
  [
    "a MAC of the plan is on another port by now",
    ({ sql }) => sql((db) => addPort(db, "f0000000-0000-4000-8000-000000000009", caseMac(4, 0))),
    new RegExp(`N2I-E300 1 row .*${caseMac(4, 0)} is on port f0.*09 of node ${NATIVE}`),
  ],
  [
    "an instance of the plan is on another node by now",
    ({ sql }) =>
      sql((db) =>
        db("nodes")
          .where({ uuid: NATIVE })
          .update({ instance_uuid: "b0000000-0000-4000-8000-000000000003" }),
      ),
    /N2I-E300 .*already contains a value that must be unique/,
  ],
  [
    "a port of the plan is there, on another node",
    (scene) => scene.sql((db) => addPort(db, portUuid(scene, 2), "52:54:ff:00:00:09")),
    new RegExp(`N2I-E300 1 row .*port:.*: the port belongs to node ${NATIVE}`),
  ],
  // The last one: from here on the plan is of no file there is.
  [
    "another file has the database's name",
    async ({ file }) => {
      renameSync(file, `${file}.old`);
      cpSync(`${file}.old`, file);
    },
    /N2I-E300 .*server was \d+:\d+, is \d+:\d+/,
  ],
];

test("a stale plan changes nothing and says what changed", async (t) => {
  const made = await scene("sqlite", t, fleet(MACHINES));
  await made.save("fresh");
  for (const [when, make, says] of CHANGES) {
    await t.test(`before the apply: it is refused when ${when}`, async () => {
      await made.restore("fresh");
      await make(made);
      const digest = await made.digest();
      const { err } = await ends(4, made.does("apply", YES));
      assert.match(err, says);
      assert.equal(await made.digest(), digest);
    });
  }
});

test("what the plan stands on is looked at again inside the first transaction", async (t) => {
  const made = await scene("sqlite", t, fleet(MACHINES));
  await made.save("fresh");
  // One of each look; a row in the way that appears meanwhile is in others.test.ts.
  const some = CHANGES.filter(([when]) => /head is another|snapshot|file/.test(when));
  for (const [when, make, says] of some) {
    await t.test(`it is refused when, since it began, ${when}`, async () => {
      await made.restore("fresh");
      const started = made.start("apply", YES, "begin.after:1:pause");
      await started.said("failpoint begin.after");
      if (when.startsWith("the snapshot")) {
        // Another stage may not enter the run meanwhile; a copy from elsewhere may.
        const path = join(made.run, "snapshot.jsonl");
        writeFileSync(path, readFileSync(path, "utf8").replace("10.0.0.2", "10.0.0.3"));
      } else await make(made);
      const digest = await made.digest();
      started.signal("SIGUSR2");
      const { err } = await ends(4, started);
      if (when.startsWith("the alembic")) assert.match(err, /N2I-E300 the alembic head is/);
      else if (when.startsWith("the snapshot")) assert.match(err, /N2I-E112 .*snapshot.jsonl/);
      else assert.match(err, says);
      assert.equal(await made.digest(), digest);
    });
  }
  assert.match((await statusOf(made)).apply, /: 0 rows created in 0 batches$/);
});

test("a row in the last batch's way is met before the first batch is loaded", async (t) => {
  smallBatches(t);
  const last = 2 * SMALL + 1;
  const made = await scene("sqlite", t, fleet(last));
  await made.sql((db) => addPort(db, "f0000000-0000-4000-8000-000000000009", caseMac(last, 0)));
  const { err } = await ends(4, made.does("apply", YES));
  assert.match(err, new RegExp(caseMac(last, 0)));
  assert.equal(await loadedRows(made), 1);
});

test("rows that are in nobody's way, added after the plan, do not make it stale", async (t) => {
  const made = await scene("sqlite", t, fleet(MACHINES));
  await made.sql((db) => addPort(db, "f0000000-0000-4000-8000-000000000009", "52:54:ff:00:00:09"));
  await ends(0, made.does("apply", YES));
  assert.equal(await loadedRows(made), 2 * MACHINES + 1);
});

test("a plan refused as stale is refused again, and owns no row of another run", async (t) => {
  const made = await scene("sqlite", t, fleet(MACHINES));
  const other = ["--run", join(made.folder, "other")];
  await runs(0, ["extract", ...other, ...made.source]);
  await runs(0, ["plan", ...other, ...made.ironic, ...made.plan]);
  await runs(0, ["apply", ...other, ...made.ironic, ...YES]);
  const set = (maintenance: boolean): Promise<unknown> =>
    made.sql((db) =>
      db("nodes")
        .where({ uuid: fleetUuid(3) })
        .update({ maintenance }),
    );
  await set(true);
  const digest = await made.digest();
  for (const _ of ["once", "again"]) {
    const { err } = await ends(4, made.does("apply", YES));
    assert.match(err, /N2I-E300 1 row now conflicts with the plan/);
  }
  assert.match((await statusOf(made)).apply, /: 0 rows created in 0 batches$/);
  await set(false);
  await ends(0, made.does("apply", YES));
  await ends(0, made.does("rollback", ["--node", fleetUuid(1), ...YES]));
  await ends(0, made.does("rollback", ALL));
  await set(true);
  assert.equal(await made.digest(), digest);
});

test("a lost plan keeps nothing from being taken back but what it loaded itself", async (t) => {
  const made = await scene("sqlite", t, fleet(4));
  const { run, source, ironic, plan } = made;
  const kept = (): readonly string[] =>
    readdirSync(run).filter(
      (name) => /^plan-/.test(name) && name !== readlinkSync(join(run, "plan")),
    );
  const again = async (): Promise<void> => {
    await runs(0, ["extract", "--run", run, ...source]);
    await runs(0, ["plan", "--run", run, ...ironic, ...plan]);
  };
  await ends(0, made.does("apply", YES));
  await t.test("refused while its rows are there", async () => {
    await again();
    const [name = ""] = kept();
    assert.match(name, /^plan-[0-9a-f]{12}$/);
    await made.save("loaded");
    rmSync(join(run, name), { recursive: true });
    const { err } = await ends(64, made.does("rollback", ALL));
    assert.match(err, /N2I-E110 .* has no plan with the digest/);
    await made.restore("loaded");
  });
  await ends(0, made.does("rollback", ALL));
  await again();
  await ends(0, made.does("apply", YES));
  for (const name of kept()) rmSync(join(run, name), { recursive: true });
  await ends(0, made.does("rollback", ALL));
  assert.equal(await loadedRows(made), 0);
});
