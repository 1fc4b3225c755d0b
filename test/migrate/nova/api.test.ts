import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRefusal, ends, refused, run, runs } from "../../hostile/cli.ts";
import { checkRows, checkSays } from "./check-output.ts";
import { IMAGES } from "./cloud.ts";
import { alembicCloud, laterCloud } from "./later.ts";
import { changes, rowsOf, sameRows } from "./rows.ts";

const DELETE = ["--flavor-images", "delete"];

test("a plan with flavors of nova_api is applied with --nova-api-db only, and to the one it was made for", async (t) => {
  const { api, ironic, act, writer } = await laterCloud("sqlite", t, DELETE);
  const before = [await rowsOf(api), await rowsOf(ironic)] as const;
  assertRefusal(await act(["apply"], []), 4, "N2I-E311", /flavors in nova_api/);
  const swapped = ["--nova-api-db", writer[1] ?? ""];
  assertRefusal(await act(["apply"], swapped), 4, "N2I-E202", /is not a nova_api database/);
  await api.db("migrate_version").update({ version: 52 });
  assertRefusal(await act(["apply"]), 4, "N2I-E300", /schema_version was 67, is 52/);
  await api.db("migrate_version").update({ version: 7 });
  assertRefusal(await act(["apply"]), 4, "N2I-E203", /Mitaka, which reads flavors from nova/);
  await api.db("migrate_version").update({ version: 67 });
  sameRows(await rowsOf(api), before[0]);
  sameRows(await rowsOf(ironic), before[1]);
});

test("an extra spec of nova_api that somebody changed is refused before the load, and left by a rollback", async (t) => {
  const { api, ironic, act } = await laterCloud("sqlite", t, DELETE);
  const before = [await rowsOf(api), await rowsOf(ironic)] as const;
  const spec = (id: number) => api.db("flavor_extra_specs").where({ id });
  await spec(3).update({ value: "somebody's" });
  const changed = /flavor_extra_specs:3 has changed since in value/;
  assertRefusal(await act(["apply"]), 4, "N2I-E300", changed);
  sameRows(await rowsOf(ironic), before[1]);
  await spec(3).update({ value: "old-ramdisk" });
  await ends(0, act(["apply"]));
  // Somebody gives a key again that was deleted: it has another number, and is theirs.
  const theirs = { flavor_id: 1, key: "baremetal:deploy_ramdisk_id", value: "theirs" };
  await api.db("flavor_extra_specs").insert({ ...theirs, id: 90 });
  const back = await ends(2, act(["rollback", "--all"]));
  assert.match(back.out, /flavor_extra_specs:3 .*exists and differs in id/);
  await spec(90).delete();
  await ends(0, act(["rollback", "--all"]));
  sameRows(await rowsOf(api), before[0]);
});

test("a rollback takes back plans with flavors of nova_api and plans without", async (t) => {
  const made = await laterCloud("sqlite", t, DELETE);
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
  assert.match(still.err, /^Next: nova2ironic rollback --run \S+ --all {2}/m);
  await ends(0, act(["rollback", "--all"]));
  sameRows(await rowsOf(api), before[0]);
  sameRows(await rowsOf(nova), before[1]);
});

test("a rollback that lacks --nova-api-db is refused, and previewed so, before anything is taken back", async (t) => {
  const { api, ironic, act } = await laterCloud("sqlite", t, DELETE);
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
});

test("hosts of a Train Nova move without a row of aggregates, which are nova_api's and named for the operator", async (t) => {
  const made = await laterCloud("sqlite", t, ["--compute-host", "iron", ...IMAGES]);
  const before = await rowsOf(made.nova);
  await ends(0, made.act(["apply"]));
  const changed = Object.keys(changes(before, await rowsOf(made.nova)));
  assert.ok(changed.some((one) => one.startsWith("instances host")));
  assert.deepEqual(
    changed.filter((one) => one.startsWith("aggregate")),
    [],
  );
  await checkSays(made, "Aggregates", /^Warning: Aggregates of nova 402 are in nova_api/);
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
  await checkSays(
    made,
    "Aggregates",
    /^Warning: .* \(1\): rack5: compute-1 is a member, iron will not be\.\nFix: openstack aggregate add host/,
    made.apiReader,
  );
});

test("a head that moves after the plan is refused, an unknown one with what to do", async (t) => {
  const made = await laterCloud("sqlite", t, IMAGES, alembicCloud());
  const { api, nova, act, at, source, reader, apiReader } = made;
  const to = (db: typeof nova, version_num: string) =>
    db.db("alembic_version").update({ version_num });
  await to(nova, "8f2f1571d55b");
  assertRefusal(
    await act(["apply"]),
    4,
    "N2I-E300",
    /another nova: head was ab450ba04102, is 8f2f1571d55b/,
  );
  await to(nova, "0123456789ab");
  const extracting = ["extract", "--run", `${made.run}-2`, ...source, "-q"];
  await refused(extracting, 4, "N2I-E203", [
    /head 0123456789ab, which is not supported/,
    /Supported are /,
  ]);
  assertRefusal(await act(["apply"]), 4, "N2I-E203", /0123456789ab, which is not supported/);
  // A database that was upgraded keeps sqlalchemy-migrate's row beside alembic's until 2023.1.
  await nova.db.schema.createTable("migrate_version", (table) => {
    table.string("repository_id").primary();
    table.integer("version");
  });
  await nova.db("migrate_version").insert({ repository_id: "nova", version: 422 });
  await to(nova, "ab450ba04102");
  await to(api, "d67eeaabee36");
  assertRefusal(await act(["apply"]), 4, "N2I-E300", /head was cdeec0c85668, is d67eeaabee36/);
  await to(api, "0123456789ab");
  const planning = ["plan", ...at, ...reader, ...source.slice(2, 4), ...apiReader, ...made.plan];
  const told = await run([...planning, "--ironic-release", "train", "-q"]);
  assertRefusal(told, 4, "N2I-E203", /not supported/, /openstack flavor set/);
  await to(api, "cdeec0c85668");
  await ends(0, act(["apply"]));
});

test("check reads records of evacuations of a later Nova, and warns where it cannot", async (t) => {
  const made = await laterCloud("sqlite", t, IMAGES, alembicCloud());
  const { nova, apiReader } = made;
  const row = async () => (await checkRows(made, apiReader))("Evacuation records");
  assert.match(await row(), /^Success: null/);
  const { uuid } = await nova.db("instances").where({ id: 1 }).first();
  await nova
    .db("migrations")
    .insert({
      ...{ instance_uuid: uuid, source_compute: "compute-9", status: "done", deleted: 0 },
      migration_type: "evacuation",
    });
  assert.match(await row(), /^Failure: .* \(1\): .*from compute-9/);
  await nova.db.schema.dropTable("migrations");
  assert.match(
    await row(),
    /^Warning: Nova of Xena or later keeps evacuation records, .*GRANT SELECT/s,
  );
});
