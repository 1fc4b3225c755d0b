import assert from "node:assert/strict";
import { test } from "node:test";
import { CHECKS, checkAll } from "../../../src/core/check/checks.ts";
import { REPEATED } from "../../../src/core/check/repeated.ts";
import type { CheckView } from "../../../src/model/check.ts";
import { UPGRADE } from "../../../src/model/findings/upgrade.ts";
import { FINDINGS, type FindingCode } from "../../../src/model/findings.ts";
import { LINE, line, MOVED, plan, READY } from "./view.ts";

/** Findings on Nova's side that rows find by looking at what is there now. */
const LIVE: readonly string[] = [
  ...["N2I-D220", "N2I-D243", "N2I-D225", "N2I-D226", "N2I-D227"],
  ...["N2I-D230", "N2I-D231"],
];
// Object.keys knows no better than string.
const CODES = Object.keys(REPEATED) as FindingCode[];

const rowOf = (view: Partial<CheckView>, title: string | undefined) =>
  checkAll({ ...READY, ...view }).find((row) => row.title === title);
/** In that row alone is anything wrong. */
const onlyIn = (view: Partial<CheckView>, title: string | undefined): void => {
  const bad = checkAll({ ...READY, ...view }).filter(({ result }) => result !== "Success");
  assert.deepEqual(
    bad.map((row) => row.title),
    [title],
  );
};

test("whatever of Nova's side is no mere note is found by a row, or repeated by one there is", () => {
  const told = Object.entries(UPGRADE)
    .filter(([, { severity }]) => severity !== "note")
    .map(([code]) => code);
  assert.deepEqual([...LIVE, ...CODES].toSorted(), told.toSorted());
  const titles = CHECKS.map(({ title }) => title);
  for (const code of CODES) assert.ok(titles.includes(REPEATED[code] ?? ""), code);
});

for (const code of CODES) {
  const { severity, title } = FINDINGS[code];
  const row = REPEATED[code];
  if (severity === "blocks")
    test(`${code} fails ${row} for a machine it blocks, and warns of one it was accepted for`, () => {
      const open = line({ blocked: true, findings: new Map([[code, false]]) });
      assert.equal(rowOf(open, row)?.result, "Failure");
      assert.match(rowOf(open, row)?.details ?? "", /bm_nodes\.id=1 a-1\.\nFix: ./);
      const accepted = line({ findings: new Map([[code, true]]) });
      onlyIn(accepted, row);
      assert.match(rowOf(accepted, row)?.details ?? "", /^1 .*, as you accepted: /);
    });
  else
    test(`${code} of the plan for Nova is a warning of ${row}`, () => {
      const found = { code, place: "somewhere", message: "is odd" };
      const view = plan({ nova: { ...MOVED, places: AT_C9, findings: [found] }, machines: GONE });
      onlyIn(view, row);
      const { details } = rowOf(view, row) ?? {};
      assert.ok(
        details?.startsWith(`1 findings ${code} of the plan, ${title}: somewhere is odd.\nFix: `),
      );
    });
}

/** Every machine goes where MOVED has it. */
const AT_C9 = new Map([["b-1", { host: "c-9", node: "a-1" }]]);
const GONE = [
  { ...LINE, host: "c-9" },
  { ...LINE, id: 2, uuid: "a-2", instance_uuid: null, host: "c-9" },
];

const PLACES = [
  ["absent", /^Not held against a plan: \/srv\/m1 is not there\.\nFix: nova2ironic extract.*\?$/m],
  ["other", /^Not held against a plan: \/srv\/m1 holds no run\.\nFix: .*is --run mistyped\?$/m],
  ["run", /^Not held against a plan: \/srv\/m1 has no plan\.\nFix: nova2ironic plan$/m],
] as const;
for (const [is, says] of PLACES)
  test(`without a plan, for a run's folder that is "${is}", what needs one is a warning and says why`, () => {
    const rows = checkAll({ ...READY, plan: null, run: { ...READY.run, is } });
    const bad = rows.filter(({ result }) => result !== "Success");
    assert.deepEqual(
      bad.map(({ title }) => title),
      CHECKS.flatMap(({ title, planned }) => (planned === true ? [title] : [])),
    );
    for (const { result, details, title } of bad) {
      assert.equal(result, "Warning");
      assert.match(details ?? "", says, title);
    }
  });
