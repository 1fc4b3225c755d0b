import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ends } from "../../hostile/cli.ts";
import { engines } from "../../lab/engines.ts";
import { alembicCloud, laterCloud } from "./later.ts";
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
