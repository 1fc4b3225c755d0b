import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { assertRefusal, ends, refused, run } from "../hostile/cli.ts";
import { engines, testOnce } from "../lab/engines.ts";
import { checkRows } from "./check-output.ts";
import { IMAGES } from "./cloud.ts";
import { alembicCloud, laterCloud } from "./later.ts";
import { changes, rowsOf, sameRows } from "./rows.ts";

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, a Nova of Xena or later is read, changed and brought back to the byte, its flavors in nova_api`, async (t) => {
    const options = ["--flavor-images", "delete", "--compute-host", "ironic-compute"];
    const made = await laterCloud(engine, t, options, alembicCloud());
    const { api, nova, act } = made;
    const [before, flavors] = [await rowsOf(nova), await rowsOf(api)];
    assert.match(
      readFileSync(`${made.run}/plan/plan.json`, "utf8"),
      /nova of Xena or later, nova_bm 10, ironic train: --allow-pairing/,
    );
    await ends(0, act(["apply"]));
    assert.equal(changes(before, await rowsOf(nova))["instances host"], 4);
    assert.equal(changes(flavors, await rowsOf(api))["flavor_extra_specs gone"], 4);
    await ends(0, act(["verify"]));
    await ends(0, act(["rollback", "--all"]));
    sameRows(await rowsOf(nova), before);
    sameRows(await rowsOf(api), flavors);
  });

testOnce(
  "a head that moves after the plan is refused, an unknown one with what to do",
  async (t) => {
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
      /head 0123456789ab, which is not known/,
      /Known are /,
    ]);
    assertRefusal(await act(["apply"]), 4, "N2I-E203", /0123456789ab, which is not known/);
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
    assertRefusal(told, 4, "N2I-E203", /not known/, /openstack flavor set/);
    await to(api, "cdeec0c85668");
    await ends(0, act(["apply"]));
  },
);

testOnce(
  "check reads records of evacuations of a later Nova, and warns where it cannot",
  async (t) => {
    const made = await laterCloud("sqlite", t, IMAGES, alembicCloud());
    const { nova, apiReader } = made;
    const row = async () => (await checkRows(made, apiReader))("Evacuation records");
    assert.match(await row(), /^Success: null/);
    const { uuid } = await nova.db("instances").where({ id: 1 }).first();
    await nova.db("migrations").insert({
      ...{ instance_uuid: uuid, source_compute: "compute-9", status: "done", deleted: 0 },
      migration_type: "evacuation",
    });
    assert.match(await row(), /^Failure: 1 .*from compute-9/);
    await nova.db.schema.dropTable("migrations");
    assert.match(await row(), /^Warning: Nova of Xena or later keeps records .*GRANT SELECT/s);
  },
);
