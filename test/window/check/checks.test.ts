import assert from "node:assert/strict";
import { test } from "node:test";
import { WINDOW_PACE } from "../../../src/model/handover.ts";
import { checkAll, statusOfChecks } from "../../../src/window/check/rules/checks.ts";
import { OTHER_CASES } from "./cases.ts";
import {
  ALIVE,
  type CheckCases,
  fails,
  GRANT,
  HEAD,
  HERE,
  INSTANCE,
  ironic,
  LINE,
  LOADED,
  later,
  loaded,
  mayNot,
  NODE,
  node,
  nova,
  passes,
  plan,
  READY,
  server,
  tenants,
  warns,
} from "./view.ts";

const SYNCED = { wsrep_local_state_comment: "Synced" };
const WHOLE = { wsrep_cluster_status: "Primary", wsrep_ready: "ON", ...SYNCED };

const PAIRING = { allowed: "override", why: "nova 233" } as const;
const KEY = { table: "ports", column: "node_id", rows: 0 };
/** So many machines that a rollback without an index is slow. */
const FLEET = Array.from({ length: 5001 }, () => LINE);

const OWN_CASES: CheckCases = {
  "Databases and schema heads": [
    fails(HEAD ? { ironic: HEAD } : {}, /E204 the reason\nFix: the way out/),
    warns({ nova: null }, /specify --nova-db/),
    warns(
      plan({ madeFor: new Map([["--nova-db", { ...HERE, database: "nova_cell1" }]]) }),
      /^Databases .* \(1\): --nova-db, database was nova_cell1, is nova\.\nFix: .*Also check --run$/,
    ),
    warns(
      server(0, {}, true),
      /^Database connections are not encrypted, .* \(1\): --nova-db mysql:\/\/nova@db1\/nova\./,
    ),
  ],
  "Pairing of releases": [
    fails({ pairing: { ...PAIRING, requested: false } }, /nova 233.*--allow-pairing/s),
    warns({ pairing: { ...PAIRING, requested: true } }, /nova 233/),
  ],
  Privileges: [
    fails(GRANT ? { bm: GRANT } : {}, /E206 the reason/),
    fails(ironic({ forbidden: mayNot("INSERT nodes") }), /INSERT nodes.*GRANT/s),
  ],
  "Clock skew": [warns(server(-2500), /--nova-db by -2\.5 s/), fails(server(31_000), /chronyc/)],
  "Galera state": [
    passes(server(0, WHOLE), /^null$/),
    fails(server(0, { ...WHOLE, wsrep_local_state_comment: "Donor/Desynced" }), /Donor/),
  ],
  "Disk space of the run": [fails({ run: { path: "/srv/m1", is: "run", free: 1000 } }, /df -h/)],
  "nova-compute stopped": [
    fails(later({ report_count: 11 }), /c-1 \(report_count 11.*systemctl stop nova-compute/s),
    passes(later({ host: "kvm-1", report_count: 11 }), /60 s/),
    warns(
      { watched: 5 },
      /^No heartbeat in 5 s, which is too short to confirm that nova-compute is stopped\.\n/,
    ),
  ],
  "Deployments in flight": [
    fails(node({ instance_uuid: "b-2", task_state: "deploying" }), /bm_nodes\.id=2 deploying/),
    fails(tenants({ task_state: "spawning" }), /b-1 spawning/),
  ],
  "Duplicate instances": [
    fails(
      node({ instance_uuid: "B-1" }),
      /b-1 by bm_nodes\.id 1 and 2.*UPDATE bm_nodes SET instance_uuid=NULL WHERE/s,
    ),
  ],
  "Unmatched instances": [
    fails(
      nova({ instances: [] }),
      /b-1 is unknown to nova.*UPDATE bm_nodes SET .*UPDATE instances SET node=/s,
    ),
    fails(tenants({ node: "a-2" }), /is on node a-2 in nova/),
    fails(tenants({}, { uuid: "b-9" }), /b-9 is on a-1 only in nova/),
  ],
  "Deleted instances": [
    fails(tenants({ deleted: true }), /bm_nodes\.id=1 b-1/),
    warns(tenants({ vm_state: "soft-delete" }), /bm_nodes\.id=1 b-1\.\nFix: nova restore INSTANCE/),
  ],
  "Evacuation records": [
    fails(
      nova({ evacuations: [{ instance_uuid: INSTANCE, source: "c-9" }] }),
      /b-1 from c-9.*UPDATE migrations/s,
    ),
  ],
  "Attached volumes": [fails(nova({ volumes: [INSTANCE] }), /volume-detach/)],
  "Target empty or ours": [
    passes({ ...loaded(), loadedNodes: new Set([NODE]) }, /1 node, all loaded by this run/),
    fails(loaded(), /\(1\): a-1 with our mark\./),
    fails({ ...loaded({ marked: false, uuid: "z-9" }), loadedNodes: new Set([NODE]) }, /z-9\./),
  ],
  "Conductors stopped or staged": [
    fails(ironic({ conductors: [ALIVE] }), /stop ironic-conductor$/),
    warns(ironic({ conductors: [ALIVE], stages: true }), /apply --staged/),
    passes(
      ironic({ conductors: [ALIVE], stages: true, nodes: [{ ...LOADED, staged: true }] }),
      /every node is staged/,
    ),
  ],
  "Power state in maintenance": [
    fails(
      loaded({ maintenance: true, power_state: "power off" }),
      /a-1 power off.*power_state=NULL/s,
    ),
    passes(loaded({ maintenance: true, power_state: null }), /^null$/),
  ],
  "Time of the hand-over": [
    warns(
      plan({ takeOvers: 300 }),
      /: 1 h 54 min, 8 machines every 180 s, by Ironic's .*window: 2 min, 40 .*\nFix: .* --ironic-conf .* ironic-conductor$/,
    ),
    passes(plan({ takeOvers: 80 }), /: 30 min, .*window: 40 s, 40 machines every 10 s, /),
    passes({ ...plan({ takeOvers: 300 }), pace: WINDOW_PACE }, /: 2 min, 40 /),
    warns({ pace: { ...WINDOW_PACE, interval: 0 } }, /interval is 0/),
    passes({ plan: null }, /^Takeover of 1 machine in use: 3 min, /),
  ],
  "Time of a rollback": [
    warns(
      { ...ironic({ keys: [KEY] }), ...plan({ machines: FLEET, ports: 10_000 }) },
      /^Rolling back 5001 nodes .*\nFix: before a rollback the owner .*: CREATE INDEX nova2ironic_ports_node_id/,
    ),
    passes(ironic({ keys: [KEY] }), /^A rollback will not be slow\.$/),
  ],
};
const CASES = [OTHER_CASES, OWN_CASES].flatMap((cases) =>
  Object.entries(cases).flatMap(([title, some]) => some.map((one) => [title, ...one] as const)),
);

test("a deployment that is ready passes every check, with exit status 0", () => {
  const rows = checkAll(READY);
  const bad = rows.filter(({ result }) => result !== "Success");
  assert.deepEqual(bad, []);
  assert.equal(statusOfChecks(rows), 0);
});

test("every check fails once in this file, and names what fixes it", () => {
  const failing = CASES.filter(([, , result]) => result !== "Success").map(([title]) => title);
  const titles = checkAll(READY).map(({ title }) => title);
  assert.deepEqual([...new Set(failing)].toSorted(), titles.toSorted());
  for (const [title, change, result] of CASES) {
    if (result === "Success" || change.pairing?.requested === true) continue;
    const row = checkAll({ ...READY, ...change }).find((found) => found.title === title);
    assert.match(row?.details ?? "", /\nFix: ./, title);
  }
});

for (const [at, [title, change, result, details]] of CASES.entries())
  test(`${title}, case ${at + 1}: ${result}`, () => {
    const row = checkAll({ ...READY, ...change }).find((found) => found.title === title);
    assert.equal(row?.result, result, row?.details ?? "");
    assert.match(String(row?.details), details);
  });

test("a database that was not read is one failure, and what needed it says that it did not look", () => {
  assert.ok(HEAD);
  for (const side of ["bm", "nova", "ironic"] as const) {
    const rows = checkAll({ ...READY, pairing: null, [side]: HEAD });
    const [failed, ...others] = rows.filter(({ result }) => result === "Failure");
    assert.deepEqual([failed?.title, others], ["Databases and schema heads", []]);
    assert.equal(statusOfChecks(rows), 2);
  }
});
