import assert from "node:assert/strict";
import { test } from "node:test";
import { checkAll } from "../../../src/window/check/rules/checks.ts";
import { READY } from "./view.ts";

/** The checks that are complete only with a plan, in the order of the migration. */
const PLANNED = [
  ...["Plan can be applied", "Privileges", "Instances planned and loaded", "Hosts of instances"],
  ...["Flavors", "Images", "Aggregates"],
];

const PLACES = [
  [
    "absent",
    /^Not compared with a plan: \/srv\/m1 does not exist\.\nFix: correct --run, or run .*, then nova2ironic plan$/m,
  ],
  ["other", /^Not compared with a plan: \/srv\/m1 is not a run\.\nFix: correct --run, or .*$/m],
  ["run", /^Not compared with a plan: \/srv\/m1 has no plan\.\nFix: nova2ironic plan$/m],
] as const;
for (const [is, says] of PLACES)
  test(`without a plan, for a run's folder that is "${is}", what needs one is a warning and says why`, () => {
    const rows = checkAll({ ...READY, plan: null, run: { ...READY.run, is } });
    const bad = rows.filter(({ result }) => result !== "Success");
    assert.deepEqual(
      bad.map(({ title }) => title),
      PLANNED,
    );
    for (const { result, details, title } of bad) {
      assert.equal(result, "Warning");
      assert.match(details ?? "", says, title);
    }
  });
