import assert from "node:assert/strict";
import { test } from "node:test";
import {
  judgeRestart,
  lastStartOf,
  type SeenService,
} from "../../../src/core/settings/restarts.ts";

const NOW = new Date(2023, 4, 1, 12, 0, 0);
/** An hour ago. */
const CHANGED = new Date(2023, 4, 1, 11, 0, 0, 500);
const LOG = { ends: "2023-05-01 11:59:00", written: new Date(2023, 4, 1, 11, 59, 5) };
const BEFORE = { ...LOG, at: "2023-05-01 10:59:59", where: "x.log:1" };
const AFTER = { ...LOG, at: "2023-05-01 11:00:00", where: "x.log:2" };
const row = (reported: number | null, created: number | null = 90_000) => ({
  ...{ host: "compute-1", reported, created },
});

function judged(seen: Pick<SeenService, "row" | "start">) {
  const { state, found } = judgeRestart({
    ...{ host: "compute-1", part: "compute", changed: CHANGED, now: NOW, ...seen },
  });
  return `${state}: ${found}`;
}

test("a log says when a service began, whatever its row says", () => {
  assert.equal(judged({ start: AFTER }), "restarted: started 2023-05-01 11:00:00");
  assert.equal(judged({ start: BEFORE }), "not restarted: started 2023-05-01 10:59:59");
  assert.match(judged({ start: BEFORE, row: row(5, 10) }), /^not restarted/);
  assert.match(judged({ start: AFTER, row: row(null) }), /^restarted/);
});

test("a log by another clock or zone says nothing", () => {
  const ahead = { ...AFTER, ends: "2023-05-01 16:59:00" };
  assert.match(judged({ start: ahead }), /^unknown: started .* not this machine's$/);
  const future = { ...AFTER, at: "2023-05-01 12:30:00", ends: "", written: NOW };
  assert.match(judged({ start: future }), /^unknown/);
});

test("a row alone shows that a service is new, or has not run since; of one that reports nobody knows", () => {
  assert.match(judged({ row: row(5, 3_000) }), /^restarted: its first start/);
  assert.equal(judged({ row: row(3_700) }), "not restarted: has not reported since");
  assert.match(judged({ row: row(null) }), /^not restarted/);
  assert.equal(judged({ row: null }), "not restarted: no nova-compute in nova.services");
  assert.match(judged({ row: row(5) }), /^unknown: reports; nova.services has no time/);
  assert.equal(judged({ start: null }), "unknown: no start in the log");
  assert.equal(judged({ row: row(5), start: null }), "unknown: no start in the log");
});

test("the last start in a log counts, of that service, on every release's form of a line", async () => {
  const of = (topic: string): string =>
    `77 INFO nova.service [-] Starting ${topic} node (version 26.2.0)`;
  const lines = [
    `2023-05-01 10:00:00.123 ${of("compute")}`,
    `2014-10-16 10:00:01 ${of("compute").replace("INFO", "AUDIT")}`,
    `2023-05-01 10:00:02.123 ${of("scheduler")}`,
    "2023-05-01 10:00:03.123 77 INFO nova.service [-] Starting network node (version 26.2.0)",
    "2023-05-01 10:00:04.123 77 INFO nova.x [-] Starting compute node",
  ];
  const read = async function* () {
    for (const [at, text] of lines.entries()) yield { line: at + 1, text };
  };
  const log = { path: "n.log", written: NOW };
  const ends = "2023-05-01 10:00:04";
  const last = { at: "2014-10-16 10:00:01", where: "n.log:2", ends, written: NOW };
  assert.deepEqual(await lastStartOf("compute", log, read()), last);
  assert.equal((await lastStartOf("scheduler", log, read()))?.where, "n.log:3");
  lines.splice(0);
  assert.equal(await lastStartOf("compute", log, read()), null);
});
