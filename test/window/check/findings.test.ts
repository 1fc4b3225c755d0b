import assert from "node:assert/strict";
import { test } from "node:test";
import type { CheckView, LineFacts, PlanFacts } from "../../../src/model/check.ts";
import { checkAll } from "../../../src/window/check/rules/checks.ts";
import {
  BM,
  INSTANCE,
  ironic,
  LINE,
  LOADED,
  NODE,
  nova,
  PLAN,
  plan,
  READY,
  TENANT,
} from "./view.ts";

const OTHER = "a-2";
/** Both machines claim the instance. */
const claims = BM.nodes.map((node) => ({ ...node, instance_uuid: INSTANCE }));
const TWICE = { bm: { ...BM, nodes: claims } };
const HELD = { ...LINE, blocked: true };
const FREE = { ...LINE, id: 2, uuid: OTHER, instance_uuid: null };
/** A line with these findings, which are open or accepted. */
const open = (line: LineFacts, ...codes: readonly string[]): LineFacts => {
  return { ...line, findings: new Map(codes.map((code) => [code, false])) };
};
const accepted = (line: LineFacts, code: string): LineFacts => {
  return { ...line, findings: new Map([[code, true]]) };
};
const LOST = open(FREE, "N2I-D103");
const DISPUTED = open(HELD, "N2I-D102");
const WON = plan({ machines: [LINE, accepted(FREE, "N2I-D103")] });
const LOADED_BOTH = { ...TWICE, ...WON, loadedNodes: new Set([NODE, OTHER]) };
const UNKNOWN = nova({ instances: [] });
const ABROAD = nova({ instances: [{ ...TENANT, node: "z-1" }] });
const DELETED = nova({ instances: [{ ...TENANT, deleted: true }] });
const leaving = { ...PLAN.applies, skipsBlocked: true };
const skips = (...ids: readonly number[]) => ({ skipped: new Set(ids) });
const first = (line: LineFacts, more: Partial<PlanFacts> = {}) =>
  plan({ machines: [line, FREE], ...more });
const without = plan({ machines: [FREE], ...skips(1) });
const both = plan({ machines: [DISPUTED, { ...DISPUTED, id: 2, uuid: OTHER }] });
const neither = plan({ machines: [], ...skips(1, 2) });

const ROWS = [
  ...["Duplicate instances", "Unmatched instances"],
  ...["Instances planned and loaded", "Deleted instances"],
];

/** A finding and how it stands; what is so in the world; the first letters of the results of ROWS. */
const CASES: readonly (readonly [string, Partial<CheckView>, string])[] = [
  ["N2I-D102 open", { ...TWICE, ...ABROAD, ...both }, "FFSS"],
  [
    "N2I-D102, one machine skipped, the other blocks still",
    { ...TWICE, ...ABROAD, ...plan({ machines: [DISPUTED], ...skips(2) }) },
    "FFSS",
  ],
  ["N2I-D102 skipped", { ...TWICE, ...ABROAD, ...neither }, "SSSS"],
  ["N2I-D103 open", { ...TWICE, ...plan({ machines: [LINE, LOST] }) }, "FSWS"],
  ["N2I-D103 accepted", { ...TWICE, ...WON }, "WSWS"],
  [
    "N2I-D103 accepted and loaded",
    {
      ...LOADED_BOTH,
      ...ironic({ nodes: [LOADED, { ...LOADED, uuid: OTHER, instance_uuid: null }] }),
    },
    "WSWS",
  ],
  [
    "N2I-D103 accepted, and Ironic has the instance on the wrong machine",
    { ...LOADED_BOTH, ...ironic({ nodes: [{ ...LOADED, uuid: OTHER }] }) },
    "WSFS",
  ],
  ["N2I-D103 skipped", { ...TWICE, ...plan({ machines: [LINE], ...skips(2) }) }, "SSSS"],
  [
    "N2I-D103 open, the machine that has the instance skipped",
    { ...TWICE, ...plan({ machines: [LOST], ...skips(1) }) },
    "FSWS",
  ],
  ["N2I-D201 open", { ...UNKNOWN, ...first(open(HELD, "N2I-D201")) }, "SFSS"],
  ["N2I-D201 accepted", { ...UNKNOWN, ...first(accepted(LINE, "N2I-D201")) }, "SWSS"],
  ["N2I-D201 skipped", { ...UNKNOWN, ...without }, "SSSS"],
  ["N2I-D202 open", { ...DELETED, ...first(open(HELD, "N2I-D202")) }, "SSSF"],
  [
    "N2I-D202 accepted",
    { ...DELETED, ...first({ ...accepted(LINE, "N2I-D202"), instance_uuid: null }) },
    "SSWW",
  ],
  [
    "N2I-D202 left out",
    { ...DELETED, ...first(open(HELD, "N2I-D202"), { applies: leaving }) },
    "SSSW",
  ],
  ["N2I-D202 skipped", { ...DELETED, ...without }, "SSSS"],
  ["N2I-D203 open", { ...ABROAD, ...first(open(HELD, "N2I-D203", "N2I-D225")) }, "SFSS"],
  ["N2I-D203 accepted", { ...ABROAD, ...first(accepted(LINE, "N2I-D203")) }, "SWSS"],
  ["N2I-D203 skipped", { ...ABROAD, ...without }, "SSSS"],
];

for (const [stands, change, wanted] of CASES)
  test(`${stands}: the rows on instances say ${wanted}`, () => {
    const rows = checkAll({ ...READY, ...change });
    const found = ROWS.map((title) => rows.find((row) => row.title === title));
    const letters = found.map((row) => row?.result[0]).join("");
    assert.equal(letters, wanted, JSON.stringify(found));
  });

test("a machine that loads without its instance is named with the finding that says so", () => {
  const rows = checkAll({ ...READY, ...TWICE, ...WON });
  const row = rows.find(({ title }) => title === "Instances planned and loaded");
  assert.match(row?.details ?? "", /^Machines .*\(1\): bm_nodes\.id=2 b-1 \(N2I-D103\)\.\nFix: /);
});

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
