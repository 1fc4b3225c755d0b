import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { gatherGroups, groupLines } from "../../../src/lib/table/groups.ts";
import { holds } from "../../support/seeded.ts";

function gathered(causes: number, each: number) {
  const gather = gatherGroups();
  for (let cause = 0; cause < causes; cause++)
    for (let at = 0; at < each + causes - cause; at++)
      gather.add(`cause ${cause}`, [`uuid-${cause}-${at}`, "tenant", "10.0.0.1", "compute-1"]);
  return gather;
}

test("the largest group comes first, with three examples", () => {
  assert.deepEqual(groupLines(gathered(2, 3), undefined), [
    "       5  cause 0",
    ...[0, 1, 2].map((at) => `    uuid-0-${at}  tenant  10.0.0.1  compute-1`),
    "       4  cause 1",
    ...[0, 1, 2].map((at) => `    uuid-1-${at}  tenant  10.0.0.1  compute-1`),
  ]);
});

test("groups fill no more than a page: fewer examples, then a count of what is left", () => {
  for (const causes of [10, 11, 20, 40, 500])
    assert.ok(groupLines(gathered(causes, 5), undefined).length <= 41, String(causes));
  const says = /^ +\d+ {2}with other causes$/;
  assert.match(groupLines(gathered(500, 5), undefined).at(-1) ?? "", says);
});

test("on a narrow screen an example loses its last columns, and no column is cut", () => {
  const lines = groupLines(gathered(1, 3), 34);
  assert.deepEqual(lines.slice(1, 2), ["    uuid-0-0  tenant  10.0.0.1"]);
});

test("however many causes there are, the counts are those of all rows", () => {
  const many = fc.integer({ min: 1, max: 6000 });
  holds(30, many, many, (rows, causes) => {
    const gather = gatherGroups();
    for (let at = 0; at < rows; at++) gather.add(`${(at * 7919) % causes}`, ["a"]);
    const counts = groupLines(gather, undefined).map((line) => /^ {2} *(\d+) {2}/.exec(line)?.[1]);
    const sum = counts.reduce((all, count) => all + Number(count ?? 0), 0);
    assert.equal(sum, rows);
  });
});
