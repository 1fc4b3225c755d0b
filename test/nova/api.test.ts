import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRefusal, ends, run, runs } from "../hostile/cli.ts";
import { engines, testOnce } from "../lab/engines.ts";
import { checkRows } from "./check-output.ts";
import { IMAGES } from "./cloud.ts";
import { laterCloud } from "./later.ts";
import { changes, rowsOf, sameRows } from "./rows.ts";

/** Four extra specs deleted, four of a resource class added to each of two flavors, one of them changed. */
const DELETED = { "flavor_extra_specs gone": 4, "flavor_extra_specs new": 7 };

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, flavors of nova_api lose their deploy images, want a resource class, and come back to the byte`, async (t) => {
    const { api, nova, act } = await laterCloud(engine, t, ["--flavor-images", "delete"]);
    const before = await rowsOf(api);
    const novaBefore = await rowsOf(nova);
    await ends(0, act(["apply"]));
    const after = await rowsOf(api);
    assert.deepEqual(changes(before, after), { ...DELETED, "flavor_extra_specs value": 1 });
    sameRows(await rowsOf(nova), novaBefore);
    await ends(0, act(["verify"]));
    const again = await act(["apply"]);
    assert.match(again.out, /flavors: 0 rows changed, 12 so already, 0 left/);
    sameRows(await rowsOf(api), after);
    await ends(0, act(["rollback", "--all"]));
    sameRows(await rowsOf(api), before);
  });

testOnce(
  "a plan with flavors of nova_api is applied with --nova-api-db only, and to the one it was made for",
  async (t) => {
    const { api, ironic, act, writer } = await laterCloud("sqlite", t, [
      "--flavor-images",
      "delete",
    ]);
    const before = [await rowsOf(api), await rowsOf(ironic)] as const;
    assertRefusal(await act(["apply"], []), 4, "N2I-E311", /flavors in nova_api/);
    const swapped = ["--nova-api-db", writer[1] ?? ""];
    assertRefusal(await act(["apply"], swapped), 4, "N2I-E202", /is not a nova_api database/);
    await api.db("migrate_version").update({ version: 52 });
    assertRefusal(await act(["apply"]), 4, "N2I-E300", /schema_version was 67, is 52/);
    await api.db("migrate_version").update({ version: 7 });
    assertRefusal(await act(["apply"]), 4, "N2I-E203", /Mitaka, which reads flavors in nova/);
    await api.db("migrate_version").update({ version: 67 });
    sameRows(await rowsOf(api), before[0]);
    sameRows(await rowsOf(ironic), before[1]);
  },
);

testOnce(
  "an extra spec of nova_api that somebody changed is refused before the load, and left by a rollback",
  async (t) => {
    const { api, ironic, act } = await laterCloud("sqlite", t, ["--flavor-images", "delete"]);
    const before = [await rowsOf(api), await rowsOf(ironic)] as const;
    const spec = (id: number) => api.db("flavor_extra_specs").where({ id });
    await spec(3).update({ value: "somebody's" });
    const changed = /flavor_extra_specs:3 was changed since in value/;
    assertRefusal(await act(["apply"]), 4, "N2I-E300", changed);
    sameRows(await rowsOf(ironic), before[1]);
    await spec(3).update({ value: "old-ramdisk" });
    await ends(0, act(["apply"]));
    // Somebody gives a key again that was deleted: it has another number, and is theirs.
    const theirs = { flavor_id: 1, key: "baremetal:deploy_ramdisk_id", value: "theirs" };
    await api.db("flavor_extra_specs").insert({ ...theirs, id: 90 });
    const back = await ends(2, act(["rollback", "--all"]));
    assert.match(back.out, /flavor_extra_specs:3 .*is there and differs in id/);
    await spec(90).delete();
    await ends(0, act(["rollback", "--all"]));
    sameRows(await rowsOf(api), before[0]);
  },
);

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, killed around a commit of its part in nova_api, an apply goes on, and a rollback goes back`, async (t) => {
    const { api, act, apiWriter } = await laterCloud(engine, t, ["--flavor-images", "delete"]);
    const before = await rowsOf(api);
    await ends(128, act(["apply"], apiWriter, "nova.commit.after:1:kill"));
    await ends(0, act(["apply"]));
    assert.equal(changes(before, await rowsOf(api))["flavor_extra_specs gone"], 4);
    await ends(128, act(["rollback", "--all"], apiWriter, "nova.commit.after:1:kill"));
    await ends(0, act(["rollback", "--all"]));
    sameRows(await rowsOf(api), before);
  });

testOnce("a rollback takes back plans with flavors of nova_api and plans without", async (t) => {
  const made = await laterCloud("sqlite", t, ["--flavor-images", "delete"]);
  const { api, nova, act, at, reader, source, plan } = made;
  const before = [await rowsOf(api), await rowsOf(nova)] as const;
  await ends(0, act(["apply"]));
  const next = await runs(0, ["status", ...at]);
  assert.match(next.err, /^Next: nova2ironic verify --run \S+ {2}/m);
  const words = [...at, ...reader, ...source.slice(2, 4), ...plan, "--ironic-release", "train"];
  const said = await runs(0, ["plan", ...words, "--compute-host", "ironic-compute", "-q"]);
  assert.match(said.out, /N2I-D240 warning nova 402 \(Train\)/);
  assertRefusal(await act(["apply"]), 4, "N2I-E114", /has no flavors outside of nova/);
  const moved = await act(["apply"], []);
  // What Ironic was told of hosts by the first plan is told as that, and left.
  assert.equal(moved.status, 2, `${moved.out}${moved.err}`);
  assert.match(moved.out, /nova_host_id: planned "ironic-compute", found "compute-1"/);
  const ironic = ["rollback", ...at, ...made.writer, "--all", "--yes", "-q"];
  await ends(2, run(ironic));
  const still = await runs(0, ["status", ...at]);
  assert.match(
    still.err,
    /^Next: nova2ironic rollback .*--nova-db file:\S+ --nova-api-db DB --all/m,
  );
  await ends(0, act(["rollback", "--all"]));
  sameRows(await rowsOf(api), before[0]);
  sameRows(await rowsOf(nova), before[1]);
});

testOnce(
  "a rollback that lacks --nova-api-db is refused, and previewed so, before anything is taken back",
  async (t) => {
    const { api, ironic, act } = await laterCloud("sqlite", t, ["--flavor-images", "delete"]);
    await ends(0, act(["apply"]));
    const there = [await rowsOf(api), await rowsOf(ironic)] as const;
    for (const words of [
      ["rollback", "--all", "--plan"],
      ["rollback", "--all"],
    ])
      assertRefusal(
        await act([...words, "--without", "nova-api-db"], []),
        4,
        "N2I-E311",
        /flavors in nova_api/,
      );
    sameRows(await rowsOf(api), there[0]);
    sameRows(await rowsOf(ironic), there[1]);
    await ends(0, act(["rollback", "--all"]));
  },
);

testOnce(
  "hosts of a Train Nova move without a row of aggregates, which are nova_api's and named for the operator",
  async (t) => {
    const made = await laterCloud("sqlite", t, ["--compute-host", "iron", ...IMAGES]);
    const before = await rowsOf(made.nova);
    await ends(0, made.act(["apply"]));
    const changed = Object.keys(changes(before, await rowsOf(made.nova)));
    assert.ok(changed.some((one) => one.startsWith("instances host")));
    assert.deepEqual(
      changed.filter((one) => one.startsWith("aggregate")),
      [],
    );
    assert.match(
      (await checkRows(made))("Aggregates"),
      /^Warning: Aggregates of nova 402 are in nova_api/,
    );
    const { db } = made.api;
    await db.schema.createTable("aggregates", (table) => {
      table.integer("id");
      table.string("name");
    });
    await db.schema.createTable("aggregate_hosts", (table) => {
      table.integer("aggregate_id");
      table.string("host");
    });
    await db("aggregates").insert({ id: 5, name: "rack5" });
    await db("aggregate_hosts").insert({ aggregate_id: 5, host: "compute-1" });
    assert.match(
      (await checkRows(made, made.apiReader))("Aggregates"),
      /^Warning: 1 .*: rack5: compute-1 is in it, iron will not be\.\nFix: openstack aggregate add host/,
    );
  },
);
