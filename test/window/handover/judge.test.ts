import assert from "node:assert/strict";
import { test } from "node:test";
import { takenOverText } from "../../../src/cli/views/verify.ts";
import { loadMappings } from "../../../src/migrate/open/documents.ts";
import { preflight } from "../../../src/migrate/plan/rules/preflight.ts";
import type { Transformed } from "../../../src/migrate/transform/transform.ts";
import { type ObservedNode, STAGED } from "../../../src/model/handover.ts";
import type { EnabledInterface, Service } from "../../../src/model/ironic/service.ts";
import {
  judge,
  missingKeys,
  noStates,
  observe,
  overdue,
} from "../../../src/window/handover/rules/judge.ts";
import { reasonNoConductor } from "../../../src/window/handover/rules/successors.ts";
import { ironic, ROW } from "./world.ts";

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

const deploy = (hostname: string | null, name: string): EnabledInterface => ({
  ...{ hostname, driver: "ipmi" },
  ...{ type: "deploy", name },
});

/** One that is dead, of the default group, and one of a rack. */
const service = (...interfaces: readonly EnabledInterface[]): Service => ({
  conductors: [
    { hostname: "old", group: "", alive: false, drivers: ["ipmi"] },
    { hostname: "rack", group: "rack7", alive: true, drivers: ["ipmi"] },
  ],
  ...{ interfaces, reserved: [] },
});

const row = { uuid: "u1", driver: "ipmi", conductor_group: "rack7", deploy_interface: "iscsi" };

test("an interface counts as enabled where a conductor that could take the machine has it", () => {
  const elsewhere = service(deploy("old", "iscsi"), deploy("rack", "direct"));
  const why = reasonNoConductor(elsewhere, row) ?? "";
  assert.match(why, /no live conductor in group "rack7" enables deploy_interface iscsi/);
  assert.equal(reasonNoConductor(service(deploy("rack", "iscsi")), row), null);
  assert.equal(reasonNoConductor(service(deploy(null, "iscsi")), row), null);
});

test("plan blocks a machine whose interface only a conductor of another group enables", () => {
  const codes = (...interfaces: readonly EnabledInterface[]) => {
    const desired = [{ id: "node:u1", resource: "node", row }];
    // As much of a machine as is looked at.
    const machine = { desired, findings: [] } as unknown as Transformed;
    const { findings } = preflight(service(...interfaces), false).machine(machine);
    return findings.map(({ code }) => code);
  };
  assert.deepEqual(codes(deploy("old", "iscsi"), deploy("rack", "direct")), ["N2I-D421"]);
  assert.deepEqual(codes(deploy("old", "direct"), deploy("rack", "iscsi")), []);
});

const { releases } = await loadMappings();
const IMAGE = ["instance_info.image_source"];
const KILO = ["instance_info.root_gb", "driver_info.deploy_kernel", "driver_info.deploy_ramdisk"];
const JUNO = KILO.map((name) => name.replace(".deploy_", ".pxe_deploy_"));
const ROOT = ["driver_internal_info.root_uuid_or_disk_id"];

function lacks(release: string, row = {}, root: string | null = null, held: string[] = []) {
  const known = releases.find(({ doc }) => doc.release === release);
  assert.ok(known);
  return missingKeys(known.doc, { ...ACTIVE, ...row }, root, new Set(held));
}

test("what a takeover needs is what the release's takeover reads", () => {
  assert.deepEqual(lacks("juno"), [...IMAGE, ...JUNO, "root_uuid (juno keeps none)"]);
  assert.deepEqual(lacks("juno", {}, "c0"), [...IMAGE, ...JUNO]);
  assert.deepEqual(lacks("kilo"), [...IMAGE, ...KILO, ...ROOT]);
  assert.deepEqual(lacks("newton"), [...IMAGE, ...ROOT]);
  assert.deepEqual(lacks("yoga", {}, "c0", IMAGE), ROOT);
  assert.deepEqual(lacks("2023.1"), []);
});

test("who boots from its disk needs no root filesystem, who boots as a ramdisk needs what it boots", () => {
  assert.deepEqual(lacks("yoga", {}, null, [...IMAGE, "capabilities.boot_option=local"]), []);
  assert.equal(lacks("2023.1", { deploy_interface: "ramdisk" }).length, 3);
});

test("a machine that no conductor takes over needs nothing", () => {
  assert.deepEqual(lacks("juno", { provision_state: null }), []);
  assert.deepEqual(lacks("juno", { maintenance: true }), []);
});

test("who was taken over and whose power no conductor read yet is counted, and said", async () => {
  const world = ironic(3, { takes: 0 });
  const { handover } = world.releasing();
  // The third stays staged: its power is nobody's to read.
  for (const uuid of ["n1", "n2"]) await handover.clear(uuid);
  world.change("n1", { power_state: "power on" });
  const tally = noStates();
  const none = () => Promise.resolve(new Map());
  for await (const _ of observe(world.plan(), handover, tally, false, none));
  assert.deepEqual([tally.done, tally.staged, tally.powerUnknown], [2, 1, 1]);
  const said = takenOverText(tally, 0, 0);
  assert.match(said[1] ?? "", /^Power: Ironic has not read the power state of 1 machine/);
  assert.equal(takenOverText({ ...tally, powerUnknown: 0 }, 0, 0).length, 1);
});
