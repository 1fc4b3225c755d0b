import assert from "node:assert/strict";
import { test } from "node:test";
import { WINDOW_PACE } from "../../../src/model/handover.ts";
import type { Entry } from "../../../src/model/journal.ts";
import type { RunFiles } from "../../../src/run/files/run-files.ts";
import type { Measured } from "../../../src/window/report/rules/facts.ts";
import { expected } from "../../../src/window/runner/next-step.ts";
import { PLAN, SHA, SNAPSHOT } from "../../support/run-files.ts";

const NOTHING: Measured = { ran: [], loaded: null, handed: null };
const SPAN = { part: "ironic", plan: SHA, from: 0, to: 1 } as const;
const AT = "2026-01-02T00:00:00Z";

function files(entries: readonly Entry[], handover: RunFiles["handover"] = null): RunFiles {
  return { snapshot: SNAPSHOT, plan: PLAN, journal: { entries }, handover };
}

test("how long a load takes is said for what is left of it, and not before a rate is known", () => {
  assert.equal(expected(files([]), "apply", NOTHING).seconds, null);
  const begin: Entry = { do: "begin", ...SPAN, at: AT, by: "me" };
  const done: Entry = { do: "done", ...SPAN, at: AT, created: 2, found: [] };
  // Two of the plan's four rows are left, at two a second.
  const rate = { ...NOTHING, loaded: { count: 2, seconds: 1 } };
  assert.equal(expected(files([begin, done]), "apply", rate).seconds, 1);
});

test("until there was a load its rate is that of the rehearsal, which is said", () => {
  const rehearsed = { ...NOTHING, rehearsed: { count: 8, seconds: 4, nova: { left: 0 } } };
  const { seconds, basis, source } = expected(files([]), "apply", rehearsed);
  assert.deepEqual([seconds, basis], [2, "measured"]);
  assert.match(source, /^4 rows at 2.0 a second, as rehearsed \(rehearsal\.json\)$/);
  const loaded = { ...rehearsed, loaded: { count: 4, seconds: 4 } };
  assert.equal(expected(files([]), "apply", loaded).seconds, 4);
});

test("the estimate of apply includes the watch of nova-compute", () => {
  const rehearsed = { ...NOTHING, rehearsed: { count: 8, seconds: 4, nova: { left: 0 } } };
  const nova = { plan: { sha256: "", counts: { stopped: ["H1"] } }, entries: [] };
  const watched = { ...files([]), nova } as unknown as Parameters<typeof expected>[0]; // no more of it is read
  const { seconds, source } = expected(watched, "apply", rehearsed);
  assert.equal(seconds, 22);
  assert.match(source, /, including 20 s for watching nova-compute$/);
  assert.equal(expected(watched, "apply", rehearsed, 5).seconds, 7);
});

test("how long a hand-over takes is said for machines that are staged still", () => {
  const begun = files([], { staged: 20, released: 9, takeOvers: 11 });
  const estimate = expected(begun, "handover", NOTHING);
  assert.deepEqual([estimate.seconds, estimate.basis], [360, "estimate"]);
  const tuned = expected(begun, "handover", NOTHING, 0, { ...WINDOW_PACE, interval: 9 });
  assert.match(tuned.source, /^estimate: 40 machines every 9 s, by the patch of config /);
  const pace = expected(begun, "handover", { ...NOTHING, handed: { count: 9, seconds: 90 } });
  assert.deepEqual([pace.seconds, pace.basis], [110, "measured"]);
});

test("a look of verify takes as long as that look did, and no other", () => {
  const ran = [["verify", 7] as const, ["verify --final", 3] as const].map(
    ([command, seconds]) => ({ ...{ command, seconds, at: AT, by: "me", status: 0, result: "" } }),
  );
  assert.equal(expected(files([]), "final", { ...NOTHING, ran }).seconds, 3);
  assert.equal(expected(files([]), "verify", { ...NOTHING, ran }).seconds, 7);
  assert.equal(expected(files([]), "takeover", { ...NOTHING, ran }).seconds, null);
});
