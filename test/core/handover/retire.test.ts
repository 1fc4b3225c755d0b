import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aloneGate,
  graceGate,
  legacyGate,
  outGate,
  stagedGate,
  verifiedGate,
} from "../../../src/core/handover/retire.ts";

const counts = { machines: 9, nodes: 9, ports: 9, findings: {} };
const verdicts = { create: 5, unchanged: 0, drift: 0, blocked: 0, conflict: 0, skipped: 0 };

test("a machine that nova_bm alone has keeps it", () => {
  const gate = (more: object, skipped = 0) =>
    outGate({ ...counts, verdicts: { ...verdicts, ...more } }, skipped).why;
  assert.equal(gate({ drift: 4 }), null);
  assert.equal(gate({ skipped: 3 }), null);
  assert.match(
    gate({ blocked: 2, conflict: 1 }, 3) ?? "",
    /^2 blocked, 1 in conflict, 3 skipped by the site/,
  );
});

test("a machine that waits for handover keeps nova_bm, by the journal or by Ironic's own word", () => {
  const gate = (staged: number, of: { staged: number; released: number } | null) =>
    stagedGate(of, { staged }).why;
  assert.equal(gate(0, null), null);
  assert.equal(gate(0, { staged: 5, released: 5 }), null);
  assert.match(gate(0, { staged: 5, released: 2 }) ?? "", /^3 machines wait/);
  assert.match(gate(4, { staged: 5, released: 5 }) ?? "", /^4 machines wait/);
  assert.match(gate(1, null) ?? "", /^1 /);
});

test("a verify that found no difference without looking at Nova is none", () => {
  assert.equal(verifiedGate(true, [], false).why, null);
  assert.match(verifiedGate(true, [], true).why ?? "", /Nova was not compared/);
  assert.match(verifiedGate(false, ["node a missing"], false).why ?? "", /node a missing; run/);
  assert.match(verifiedGate(false, [], false).why ?? "", /rows of Nova/);
});

test("another service in the database, or a nova-compute that reports, keeps it", () => {
  assert.equal(aloneGate(["bm_nodes", "racks"], ["nova_bm"]).why, null);
  assert.match(aloneGate(["bm_nodes", "instances"], ["nova_bm"]).why ?? "", /tables instances/);
  assert.match(aloneGate(["bm_nodes"], ["nova_bm", "nova"]).why ?? "", /schema versions of nova/);
  assert.equal(legacyGate([]).why, null);
  assert.match(legacyGate(["c-1 5 s ago"]).why ?? "", /reported from c-1 5 s ago/);
  assert.match(legacyGate(null).why ?? "", /give --nova-db/);
});

test("the grace period is of the last archive, and a run that went on has none", () => {
  const archive = {
    do: "archive",
    ...{ sha256: "", rows: 1, grace: 7, at: "2023-05-01T00:00:00.000Z", by: "o" },
  } as const;
  const retirement = { archive, begun: new Set<string>(), dropped: new Set<string>() };
  const gate = (day: number, stale = false) =>
    graceGate({ ...retirement, stale }, Date.UTC(2023, 4, day)).why;
  assert.match(gate(7) ?? "", /^7 days from 2023-05-01.* until 2023-05-08T00/);
  assert.equal(gate(8), null);
  assert.match(gate(30, true) ?? "", /went on since the archive/);
  assert.match(
    graceGate({ ...retirement, archive: null, stale: false }, 0).why ?? "",
    /no archive/,
  );
});
