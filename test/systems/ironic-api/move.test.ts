import assert from "node:assert/strict";
import { test } from "node:test";
import type { Row } from "../../../src/model/machine.ts";
import {
  foundState,
  nextMove,
  noHistory,
  note,
  UNDOING,
} from "../../../src/systems/ironic-api/move.ts";

const MARK = { extra: { nova_bm: { id: 1 } } };
const ACTIVE: Row = { ...MARK, provision_state: "active", maintenance: false, protected: true };

/** The step from a state towards an active machine. */
function move(found: Row, planned: Row = ACTIVE, history = noHistory()): string {
  const next = nextMove(planned, { maintenance: false, ...found }, history);
  return "name" in next ? next.name : "reason" in next ? next.reason : next.do;
}

test("a machine goes from enroll over manageable and adopting to active, and is protected then", () => {
  const states = ["enroll", "verifying", "manageable", "adopting", "active"];
  const moves = states.map((provision_state) => move({ provision_state }));
  assert.deepEqual(moves, ["manage", "wait", "adopt", "wait", "protect"]);
  assert.equal(move({ provision_state: "active", protected: true }), "done");
});

test("one that came back to enroll, or failed twice, is stopped with both reasons", () => {
  const enroll = { provision_state: "enroll", last_error: "no BMC" };
  const history = noHistory();
  note(history, "manage", { provision_state: "enroll" });
  assert.equal(move(enroll, ACTIVE, history), "manage failed: no BMC");
  const failed = { provision_state: "adopt failed", last_error: "no boot" };
  assert.equal(move(failed), "manage");
  note(history, "manage", failed);
  assert.equal(move(failed, ACTIVE, history), "manage", "nothing was tried since");
  note(history, "adopt", { provision_state: "manageable" });
  const again = move({ ...failed, last_error: "no image" }, ACTIVE, history);
  assert.match(again, /first no boot; then no image/);
});

test("a free machine is provided only while it refuses cleaning itself", () => {
  const free = { ...ACTIVE, provision_state: "available" };
  const at = { provision_state: "manageable" };
  assert.equal(move({ ...at, automated_clean: false }, free), "provide");
  for (const automated_clean of [null, true])
    assert.match(move({ ...at, automated_clean }, free), /would wipe its disks/);
  assert.match(move({ provision_state: "cleaning", automated_clean: null }, free), /being cleaned/);
});

test("a free machine that is available is left to be cleaned as planned", () => {
  const free = { ...ACTIVE, protected: false, provision_state: "available", automated_clean: null };
  const there = { ...free, automated_clean: false };
  const is = (planned: Row, ended: boolean) => foundState(planned, there, () => true, ended).is;
  for (const planned of [free, { ...free, automated_clean: true }]) {
    assert.equal(move(there, planned), "settle");
    assert.equal(move({ ...there, automated_clean: planned.automated_clean }, planned), "done");
    // Until it has ended the next apply settles it; after that somebody wants it so.
    assert.deepEqual([is(planned, false), is(planned, true)], ["half-made", "changed"]);
  }
  assert.equal(move(there, there), "done");
});

test("a machine to be held is put into maintenance before anything else", () => {
  const held = { ...ACTIVE, maintenance: true, maintenance_reason: "look" };
  assert.equal(move({ provision_state: "enroll", maintenance: true }, held), "hold");
  const there = { provision_state: "enroll", maintenance: true, maintenance_reason: "look" };
  assert.equal(move(there, held), "manage");
});

test("traits are written once, while the node stands still, and a machine that got others is changed", () => {
  const planned = { ...ACTIVE, traits: ["CUSTOM_A"] };
  const at = (provision_state: string, traits: readonly string[]) => ({ provision_state, traits });
  assert.equal(move(at("enroll", []), planned), "traits");
  assert.equal(move(at("enroll", ["CUSTOM_A"]), planned), "manage");
  assert.equal(move(at("verifying", []), planned), "wait");
  const is = (found: Row) => foundState(planned, { ...planned, ...found }, () => true, false).is;
  assert.equal(is(at("enroll", [])), "half-made");
  assert.equal(is(at("enroll", ["CUSTOM_B"])), "changed");
  assert.equal(is(at("active", [])), "changed");
});

test("a rollback's own maintenance ends before the next step, an operator's is nobody's to end", () => {
  const held = { maintenance: true, maintenance_reason: UNDOING, protected: true };
  assert.equal(move({ ...held, provision_state: "active" }), "release");
  assert.equal(move({ ...held, provision_state: "enroll" }), "release");
  const planned = { ...ACTIVE, maintenance: true, maintenance_reason: "look" };
  assert.equal(move({ ...held, provision_state: "active" }, planned), "hold");
  const operators = { ...ACTIVE, provision_state: "enroll", maintenance: true };
  const found = { ...operators, maintenance_reason: "a disk is dead" };
  assert.equal(foundState(ACTIVE, found, () => true, false).is, "changed");
});

test("cleaning is waited for only on the way of a machine that refuses it, and clean wait never", () => {
  const free = { ...ACTIVE, provision_state: "available" };
  const is = (found: Row): string =>
    foundState(free, { ...free, automated_clean: null, ...found }, () => true, false).is;
  assert.equal(is({ provision_state: "cleaning" }), "changed");
  assert.equal(is({ provision_state: "clean wait", automated_clean: false }), "changed");
  const plan = { ...free, automated_clean: false };
  const passing = { ...plan, provision_state: "cleaning" };
  assert.equal(foundState(plan, passing, () => true, false).is, "half-made");
  assert.equal(move(passing, plan), "wait");
  for (const provision_state of ["clean wait", "clean failed", "inspecting", "deleting"])
    assert.equal(move({ ...plan, provision_state }, plan), `it is ${provision_state}`);
});

test("a node is half-made only with our mark, on the way, and differing in nothing else", () => {
  const is = (found: Row, ended = false): string =>
    foundState(ACTIVE, { ...ACTIVE, ...found }, () => true, ended).is;
  assert.equal(is({}), "planned");
  assert.equal(is({ provision_state: "manageable", protected: false }), "half-made");
  assert.equal(is({ protected: false }), "half-made");
  // However the batch ended: protection may have failed, and the next apply makes it good.
  assert.equal(is({ protected: false }, true), "half-made");
  assert.equal(is({ protected_reason: "another" }), "changed");
  assert.equal(is({ provision_state: "deleting" }), "changed");
  assert.equal(is({ provision_state: "manageable", owner: "me" }), "changed");
  assert.equal(is({ extra: {} }), "not ours");
  const undoing = { maintenance: true, maintenance_reason: UNDOING, protected: false };
  assert.equal(is(undoing, true), "half-made");
});
