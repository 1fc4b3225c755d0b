import assert from "node:assert/strict";
import { test } from "node:test";
import { restOfMinute, runningComputes } from "../../../src/migrate/hosts/rules/running.ts";

const BEAT = { id: 1, host: "c-1", report_count: 10, last_seen_up: null, age: 900 };

test("an age under a minute is enough, on either side of the server's clock", () => {
  for (const age of [0, 59, -59]) {
    const now = [{ ...BEAT, age }];
    assert.deepEqual(runningComputes(now, now), [`c-1 ${age} s ago`]);
  }
});

test("an old report, one from the future and none at all say nothing while they stand still", () => {
  for (const age of [60, 1e9, -60, -7200, null])
    assert.deepEqual(runningComputes([{ ...BEAT, age }], [{ ...BEAT, age }]), []);
});

test("a row that moved or came is a nova-compute that runs, one that went is none", () => {
  const told = ["c-1 while it was watched (report_count is 11 by now)"];
  assert.deepEqual(runningComputes([BEAT], [{ ...BEAT, report_count: 11 }]), told);
  assert.deepEqual(runningComputes([], [{ ...BEAT, report_count: 11 }]), told);
  const seen = { ...BEAT, last_seen_up: "2014-12-01 00:00:10" };
  assert.equal(runningComputes([BEAT], [seen]).length, 1);
  assert.deepEqual(runningComputes([BEAT], []), []);
});

test("the rest of a minute that is nearly over is waited for, and a young report is not", () => {
  const rest = (...ages: readonly (number | null)[]) =>
    restOfMinute(ages.map((age) => ({ ...BEAT, age })));
  assert.equal(rest(56), 4);
  assert.equal(rest(58, 51, 900, null), 9);
  assert.equal(rest(56, 20), 0);
  assert.equal(rest(-56), 0);
  assert.equal(rest(900, null), 0);
  assert.equal(rest(), 0);
});
