import assert from "node:assert/strict";
import { test } from "node:test";
import { type ObservedNode, STAGED } from "../../../src/model/handover.ts";
import { judge, overdue } from "../../../src/window/handover/rules/judge.ts";
import { ROW } from "./world.ts";

const LAB = { hostname: "lab", alive: true };
const DEAD = { hostname: "lab", alive: false };
const ACTIVE = { provision_state: "active", maintenance: false, driver: "ipmi" };
const FREE = { provision_state: "available", maintenance: false };
const HELD = { provision_state: "manageable", maintenance: true };
const IDLE: ObservedNode = { ...ROW, maintenance: false, maintenance_reason: null };

test("a machine in use is done when a conductor has it, any other when nothing is in the way", () => {
  const cases = [
    [ACTIVE, { maintenance: true, maintenance_reason: STAGED }, "staged"],
    [ACTIVE, {}, "waiting"],
    [ACTIVE, { reservation: "lab" }, "waiting"],
    [ACTIVE, { reservation: "lab", last_error: "of the try before" }, "waiting"],
    [ACTIVE, { reservation: "lab", taker: LAB, last_error: "no power" }, "done"],
    [ACTIVE, { reservation: "lab", taker: LAB }, "done"],
    [FREE, { reservation: "lab" }, "done"],
    [ACTIVE, { taker: LAB }, "done"],
    [ACTIVE, { last_error: "Async execution of _do_takeover failed" }, "failed"],
    [ACTIVE, { taker: LAB, last_error: "no power" }, "done"],
    [ACTIVE, { taker: LAB, last_error: "Async execution of _do_takeover failed" }, "done"],
    [ACTIVE, { maintenance: true }, "failed"],
    [ACTIVE, { maintenance: true, maintenance_reason: "fans broken" }, "failed"],
    [ACTIVE, { taker: DEAD }, "waiting"],
    [ACTIVE, { taker: DEAD, last_error: "no power" }, "failed"],
    [FREE, { taker: DEAD }, "done"],
    [FREE, {}, "done"],
    [FREE, { last_error: "no power" }, "done"],
    [HELD, { maintenance: true, maintenance_reason: "unclean" }, "held"],
    [HELD, {}, "held"],
  ] as const;
  for (const [planned, more, state] of cases)
    assert.equal(judge(planned, { ...IDLE, ...more }).state, state, JSON.stringify(more));
  assert.equal(judge(ACTIVE, undefined).state, "missing");
});

test("what failed is told with what the conductor says and with what to do", () => {
  const reason = { maintenance: true, maintenance_reason: "power sync", last_error: "no route" };
  const { reason: why, fix } = judge(ACTIVE, { ...IDLE, ...reason });
  assert.equal(why, "in maintenance: power sync (no route)");
  assert.match(fix ?? "", /power --node/);
  const rack = { ...ACTIVE, conductor_group: "rack7" };
  assert.match(overdue(rack, 60).fix ?? "", /in group rack7 with driver ipmi/);
});

test("a conductor that died or is gone is told with the machine it had", () => {
  const why = (taker: ObservedNode["taker"], last_error: string | null = null) =>
    judge(ACTIVE, { ...IDLE, taker, last_error }).reason;
  assert.equal(why(DEAD), "conductor lab, which took it over, is not alive");
  const gone = { ...DEAD, hostname: null };
  assert.equal(why(gone), "the conductor that took it over is no longer in Ironic");
  assert.match(why(DEAD, "no power") ?? "", /is not alive; takeover failed: no power$/);
  assert.equal(why(LAB), null);
});

test("a machine that a conductor has keeps being handed over whatever its BMC did, and that is told", () => {
  const gaveUp = "During sync_power_state, max retries exceeded for node n1";
  const said = (more: Partial<ObservedNode>) => judge(ACTIVE, { ...IDLE, taker: LAB, ...more });
  const old = said({ last_error: gaveUp, power_state: "power on" });
  assert.equal(old.state, "done");
  assert.equal(old.reason, `old error, the power state is known again (power on): ${gaveUp}`);
  assert.match(said({ last_error: gaveUp }).reason ?? "", /^a conductor reports: During/);
  const planned = { ...ACTIVE, last_error: "as it was loaded" };
  assert.equal(
    judge(planned, { ...IDLE, taker: LAB, last_error: "as it was loaded" }).reason,
    null,
  );
});

test("no text of a machine that a living conductor has makes its takeover a failed one", () => {
  const texts = [
    ...["Async execution of _do_takeover failed with error: no kernel", "no power"],
    ...["Failed to prepare to take over: no ramdisk", "Timeout reached while taking over", ""],
  ];
  for (const last_error of texts)
    for (const reservation of [null, "lab"]) {
      const { state, reason: why } = judge(ACTIVE, {
        ...IDLE,
        taker: LAB,
        last_error,
        reservation,
      });
      assert.equal(state, "done", last_error);
      assert.ok(why?.endsWith(last_error), last_error);
    }
  const again = judge(ACTIVE, { ...IDLE, taker: LAB, last_error: "_do_takeover failed" });
  assert.equal(again.reason, "lab has it, but an earlier takeover failed: _do_takeover failed");
});

test("a free machine that no living conductor would work with is not handed over", () => {
  const dead = "no conductor is alive: lab";
  const { state, reason: why } = judge(FREE, IDLE, dead);
  assert.deepEqual([state, why], ["waiting", dead]);
  assert.equal(judge(FREE, ROW, dead).state, "staged");
  assert.equal(judge(ACTIVE, { ...IDLE, taker: LAB }, dead).state, "done");
});
