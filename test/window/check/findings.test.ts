import assert from "node:assert/strict";
import { test } from "node:test";
import type { CheckView } from "../../../src/model/check.ts";
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
const TWICE = {
  bm: { ...BM, nodes: BM.nodes.map((node) => ({ ...node, instance_uuid: INSTANCE })) },
};
const says = (...findings: readonly (readonly [string, boolean])[]) => ({
  findings: new Map(findings),
});
const HELD = { ...LINE, blocked: true };
const FREE = { ...LINE, id: 2, uuid: OTHER, instance_uuid: null };
const LOST = (accepted: boolean) => ({ ...FREE, ...says(["N2I-D103", accepted]) });
const DISPUTED = { ...HELD, ...says(["N2I-D102", false]) };
const WON = plan({ machines: [LINE, LOST(true)] });
const ABROAD = { instances: [{ ...TENANT, node: "z-1" }] };
const DELETED = { instances: [{ ...TENANT, deleted: true }] };
const skips = (...ids: readonly number[]) => ({ skipped: new Set(ids) });
const first = (line: typeof LINE) => plan({ machines: [line, FREE] });
const without = plan({ machines: [FREE], ...skips(1) });

const ROWS = [
  ...["Duplicate instances", "Unmatched instances"],
  ...["Instances planned and loaded", "Deleted instances"],
];

/** A finding and how it stands; what is so in the world; the first letters of the results of ROWS. */
const CASES: readonly (readonly [string, Partial<CheckView>, string])[] = [
  [
    "N2I-D102 open",
    {
      ...{ ...TWICE, ...nova(ABROAD) },
      ...plan({ machines: [DISPUTED, { ...DISPUTED, id: 2, uuid: OTHER }] }),
    },
    "FFSS",
  ],
  [
    "N2I-D102, one machine skipped, the other blocks still",
    { ...TWICE, ...nova(ABROAD), ...plan({ machines: [DISPUTED], ...skips(2) }) },
    "FFSS",
  ],
  [
    "N2I-D102 skipped",
    { ...TWICE, ...nova(ABROAD), ...plan({ machines: [], ...skips(1, 2) }) },
    "SSSS",
  ],
  ["N2I-D103 open", { ...TWICE, ...plan({ machines: [LINE, LOST(false)] }) }, "FSWS"],
  ["N2I-D103 accepted", { ...TWICE, ...WON }, "WSWS"],
  [
    "N2I-D103 accepted and loaded",
    {
      ...{ ...TWICE, ...WON, ours: new Set([NODE, OTHER]) },
      ...ironic({ nodes: [LOADED, { ...LOADED, uuid: OTHER, instance_uuid: null }] }),
    },
    "WSWS",
  ],
  [
    "N2I-D103 accepted, and Ironic has the instance on the wrong machine",
    {
      ...{ ...TWICE, ...WON, ours: new Set([NODE, OTHER]) },
      ...ironic({ nodes: [{ ...LOADED, uuid: OTHER }] }),
    },
    "WSFS",
  ],
  ["N2I-D103 skipped", { ...TWICE, ...plan({ machines: [LINE], ...skips(2) }) }, "SSSS"],
  [
    "N2I-D103 open, the machine that has the instance skipped",
    { ...TWICE, ...plan({ machines: [LOST(false)], ...skips(1) }) },
    "FSWS",
  ],
  [
    "N2I-D201 open",
    { ...nova({ instances: [] }), ...first({ ...HELD, ...says(["N2I-D201", false]) }) },
    "SFSS",
  ],
  [
    "N2I-D201 accepted",
    { ...nova({ instances: [] }), ...first({ ...LINE, ...says(["N2I-D201", true]) }) },
    "SWSS",
  ],
  ["N2I-D201 skipped", { ...nova({ instances: [] }), ...without }, "SSSS"],
  [
    "N2I-D202 open",
    { ...nova(DELETED), ...first({ ...HELD, ...says(["N2I-D202", false]) }) },
    "SSSF",
  ],
  [
    "N2I-D202 accepted",
    {
      ...nova(DELETED),
      ...plan({ machines: [{ ...LINE, instance_uuid: null, ...says(["N2I-D202", true]) }, FREE] }),
    },
    "SSWW",
  ],
  [
    "N2I-D202 left out",
    {
      ...nova(DELETED),
      ...plan({
        machines: [{ ...HELD, ...says(["N2I-D202", false]) }, FREE],
        applies: { ...PLAN.applies, leaves: true },
      }),
    },
    "SSSW",
  ],
  ["N2I-D202 skipped", { ...nova(DELETED), ...without }, "SSSS"],
  [
    "N2I-D203 open",
    { ...nova(ABROAD), ...first({ ...HELD, ...says(["N2I-D203", false], ["N2I-D225", false]) }) },
    "SFSS",
  ],
  [
    "N2I-D203 accepted",
    { ...nova(ABROAD), ...first({ ...LINE, ...says(["N2I-D203", true]) }) },
    "SWSS",
  ],
  ["N2I-D203 skipped", { ...nova(ABROAD), ...without }, "SSSS"],
];

for (const [stands, change, wanted] of CASES)
  test(`${stands}: the rows on instances say ${wanted}`, () => {
    const rows = checkAll({ ...READY, ...change });
    const found = ROWS.map((title) => rows.find((row) => row.title === title));
    assert.equal(
      found.map((row) => row?.result[0]).join(""),
      wanted,
      found.map((row) => row?.details).join("\n"),
    );
  });

test("a machine that loads without its instance is named with the finding that says so", () => {
  const rows = checkAll({ ...READY, ...TWICE, ...WON });
  const row = rows.find(({ title }) => title === "Instances planned and loaded");
  assert.match(row?.details ?? "", /^Machines .*\(1\): bm_nodes\.id=2 b-1 \(N2I-D103\)\.\nFix: /);
});
