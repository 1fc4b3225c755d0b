import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Lease } from "../../../src/model/nova/leases.ts";
import {
  isLive,
  judgeLeases,
  shareOf,
  successorsOf,
} from "../../../src/takeover/rules/successors.ts";
import { caseUuid } from "../../cases/case.ts";
import { holds } from "../../support/seeded.ts";

const TTL = 60_000;

function lease(host: string, more: Partial<Lease> = {}): Lease {
  const fence = { fenced_by: null, fenced: null };
  return { host, epoch: 1, heartbeat: 7, age: 5_000, ttl: TTL, takes: true, ...fence, ...more };
}

const dead = (host: string): Lease => lease(host, { age: TTL + 1 });

/** Hosts that are to be taken over, or the alarm. */
function judged(leases: readonly Lease[], silent: readonly string[], known?: readonly string[]) {
  const all = new Set(known ?? leases.map(({ host }) => host));
  const { alarm, of, dead } = judgeLeases(leases, { live: all, silent: new Set(silent) });
  const hosts = dead.map(({ host }) => host).join();
  return alarm.length > 0 ? `ALARM ${alarm.join()} of ${of}, ${hosts || "none"} dead` : hosts;
}

test("a host is dead past its lease and by Nova's word, and never by one of them", () => {
  const others = [lease("B"), lease("C")];
  assert.equal(judged([dead("A"), ...others], ["A"]), "A");
  assert.equal(judged([dead("A"), ...others], []), "", "Nova says it lives");
  assert.equal(judged([lease("A", { age: TTL }), ...others], ["A"]), "", "the last moment");
  assert.equal(judged([lease("A", { fenced_by: "B" }), ...others], ["A"]), "A", "fenced already");
  assert.equal(judged([lease("A", { fenced_by: "B" }), ...others], []), "", "it is back");
});

test("a lease further ahead of the clock than it lasts hides no death", () => {
  for (const age of [-TTL, -TTL - 1, -3_600_000]) {
    const found = age === -TTL ? "" : "A";
    assert.equal(judged([lease("A", { age }), lease("B"), lease("C")], ["A"]), found, String(age));
    assert.equal(judged([lease("A", { age }), lease("B"), lease("C")], []), "", "it reports");
    assert.equal(isLive(lease("A", { age })), found === "");
  }
});

test("A-13: more than half of the hosts that are not fenced, and two or more, are an alarm", () => {
  assert.equal(judged([dead("A"), lease("B")], ["A"]), "A", "one of two");
  const alarm = "ALARM A,B of 3, none dead";
  assert.equal(judged([dead("A"), dead("B"), lease("C")], ["A", "B"]), alarm);
  assert.equal(judged([dead("A"), dead("B"), lease("C"), lease("D")], ["A", "B"]), "A,B", "half");
  assert.equal(judged([dead("A")], ["A"]), "A", "one alone");
  assert.equal(judged([dead("A"), dead("B"), lease("C")], []), alarm, "Nova's word or not");
  const fenced = lease("A", { age: 2 * TTL, fenced_by: "C" });
  assert.equal(judged([fenced, dead("B"), lease("C")], ["A", "B"]), "A,B", "one after the other");
  const [goesOn, four] = ["ALARM B,C of 3, A dead", [fenced, dead("B"), dead("C"), lease("D")]];
  assert.equal(judged(four, ["A", "B", "C"]), goesOn, "what was begun comes to its end");
  assert.equal(judged(four, ["B", "C"]), "ALARM B,C of 3, none dead", "A is back");
  const gone = [dead("X"), dead("Y"), dead("A"), lease("B"), lease("C")];
  assert.equal(judged(gone, ["A"], ["A", "B", "C"]), "A", "whom Nova does not know");
});

test("those take that live, take, are in Nova's favour, and in the same aggregates", () => {
  const leases = ["A", "B", "C", "D", "E", "F"].map((host) => lease(host));
  const fit = new Set(["A", "B", "C", "D", "E"]);
  const aggregates = new Map(
    Object.entries({ A: [2, 1], B: [1, 2], C: [1], E: [1, 2], F: [1, 2] }),
  );
  assert.deepEqual(successorsOf("A", leases, fit, aggregates), ["B", "E"]);
  assert.deepEqual(successorsOf("A", leases, fit, null), ["B", "C", "D", "E"]);
  const less = [lease("A"), lease("B", { takes: false }), dead("C"), ...leases.slice(3)];
  assert.deepEqual(successorsOf("A", less, fit, null), ["D", "E"]);
  // D alone is in no aggregate.
  assert.deepEqual(successorsOf("D", leases, fit, aggregates), []);
});

const names = fc.string({ minLength: 1, maxLength: 12 });
const hosts = fc.uniqueArray(names, { minLength: 1, maxLength: 8 });
const nodes = fc.uniqueArray(fc.uuid(), { maxLength: 60 });

test("each machine is in the share of exactly one taker, in any order of the takers, in upper or lower case", () => {
  holds(100, hosts, nodes, (takers, machines) => {
    const shares = takers.map((host) => shareOf(host, machines, takers));
    assert.deepEqual(shares.flat().toSorted(), machines.toSorted());
    const upper = (nodes: readonly string[]) => nodes.map((node) => node.toUpperCase());
    for (const [at, host] of takers.entries()) {
      const share = shares[at] ?? [];
      assert.deepEqual(shareOf(host, machines, takers.toReversed()), share);
      assert.deepEqual(shareOf(host, upper(machines), takers), upper(share));
    }
    assert.deepEqual(shareOf("nobody of them, as its name is too long", machines, takers), []);
  });
});

test("a taker that dies leaves its share to the others, who keep theirs", () => {
  holds(100, hosts, nodes, fc.nat(), (takers, machines, at) => {
    const gone = takers[at % takers.length] ?? "";
    const left = takers.filter((host) => host !== gone);
    for (const host of left) {
      const now = new Set(shareOf(host, machines, left));
      for (const node of shareOf(host, machines, takers)) assert.ok(now.has(node));
    }
  });
});

test("shares are alike: of 600 machines each of three takers has between 150 and 250", () => {
  const machines = Array.from({ length: 600 }, (_, at) => caseUuid("node", at));
  const takers = ["compute-1", "compute-2", "compute-3"];
  for (const host of takers) {
    const { length } = shareOf(host, machines, takers);
    assert.ok(length >= 150 && length <= 250, `${host}: ${length}`);
  }
});
