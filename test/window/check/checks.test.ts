import assert from "node:assert/strict";
import { test } from "node:test";
import { WINDOW_PACE } from "../../../src/model/handover.ts";
import { CHECKS, checkAll, statusOfChecks } from "../../../src/window/check/rules/checks.ts";
import { CASES_APPLIES } from "./applies.ts";
import { CASES_RIGHTS } from "./flavor-rights.ts";
import { LATER_CASES } from "./later.ts";
import { CASES_PLACES } from "./places.ts";
import {
  ALIVE,
  BEAT,
  CASES_MORE,
  type CheckCases,
  GRANT,
  HEAD,
  HERE,
  INSTANCE,
  ironic,
  LINE,
  LOADED,
  mayNot,
  NODE,
  node,
  nova,
  plan,
  READY,
  server,
  TENANT,
} from "./view.ts";

const WHOLE = {
  ...{ wsrep_cluster_status: "Primary", wsrep_local_state_comment: "Synced", wsrep_ready: "ON" },
};

const KEY = { table: "ports", column: "node_id", rows: 0 };
/** So many machines that a rollback without an index is slow. */
const FLEET = Array.from({ length: 5001 }, () => LINE);

const OWN_CASES: CheckCases = {
  "Databases and schema heads": [
    [HEAD ? { ironic: HEAD } : {}, "Failure", /E204 the reason\nFix: the way out/],
    [{ nova: null }, "Warning", /give --nova-db/],
    [
      plan({ madeFor: new Map([["--nova-db", { ...HERE, database: "nova_cell1" }]]) }),
      "Warning",
      /^1 databases .*: --nova-db, database was nova_cell1, is nova\.\nFix: .*--run another's\?$/,
    ],
    [
      server(0, {}, true),
      "Warning",
      /^1 databases are spoken to in clear, .*: --nova-db mysql:\/\/nova@db1\/nova\./,
    ],
  ],
  "Pairing of releases": [
    [
      { pairing: { allowed: "override", why: "nova 233", wanted: false } },
      "Failure",
      /nova 233.*--allow-pairing/s,
    ],
    [{ pairing: { allowed: "override", why: "nova 233", wanted: true } }, "Warning", /nova 233/],
  ],
  Privileges: [
    [GRANT ? { bm: GRANT } : {}, "Failure", /E206 the reason/],
    [ironic({ forbidden: mayNot("INSERT nodes") }), "Failure", /INSERT nodes.*GRANT/s],
  ],
  "Clock skew": [
    [server(-2500), "Warning", /--nova-db by -2\.5 s/],
    [server(31_000), "Failure", /chronyc/],
  ],
  "Galera state": [
    [server(0, WHOLE), "Success", /^null$/],
    [server(0, { ...WHOLE, wsrep_local_state_comment: "Donor/Desynced" }), "Failure", /Donor/],
  ],
  "Disk space of the run": [
    [{ run: { path: "/srv/m1", is: "run", free: 1000 } }, "Failure", /df -h/],
  ],
  "nova-compute stopped": [
    [
      nova({ later: [{ ...BEAT, report_count: 11 }] }),
      "Failure",
      /c-1 \(report_count 11.*systemctl stop nova-compute/s,
    ],
    [nova({ later: [{ ...BEAT, host: "kvm-1", report_count: 11 }] }), "Success", /60 s/],
    [{ watched: 5 }, "Warning", /proves nothing/],
  ],
  "Deployments in flight": [
    [
      node({ instance_uuid: "b-2", task_state: "deploying" }),
      "Failure",
      /bm_nodes\.id=2 deploying/,
    ],
    [nova({ instances: [{ ...TENANT, task_state: "spawning" }] }), "Failure", /b-1 spawning/],
  ],
  "Duplicate instances": [
    [
      node({ instance_uuid: "B-1" }),
      "Failure",
      /b-1 by bm_nodes\.id 1 and 2.*UPDATE bm_nodes SET instance_uuid=NULL WHERE/s,
    ],
  ],
  "Unmatched instances": [
    [
      nova({ instances: [] }),
      "Failure",
      /b-1 is unknown to nova.*UPDATE bm_nodes SET .*UPDATE instances SET node=/s,
    ],
    [nova({ instances: [{ ...TENANT, node: "a-2" }] }), "Failure", /is on node a-2 in nova/],
    [
      nova({ instances: [TENANT, { ...TENANT, uuid: "b-9" }] }),
      "Failure",
      /b-9 is on a-1 in nova alone/,
    ],
  ],
  "Deleted instances": [
    [nova({ instances: [{ ...TENANT, deleted: true }] }), "Failure", /bm_nodes\.id=1 b-1/],
    [
      nova({ instances: [{ ...TENANT, vm_state: "soft-delete" }] }),
      "Warning",
      /bm_nodes\.id=1 b-1\.\nFix: nova restore INSTANCE/,
    ],
  ],
  "Evacuation records": [
    [
      nova({ evacuations: [{ instance_uuid: INSTANCE, source: "c-9" }] }),
      "Failure",
      /b-1 from c-9.*UPDATE migrations/s,
    ],
  ],
  "Attached volumes": [[nova({ volumes: [INSTANCE] }), "Failure", /volume-detach/]],
  "Target empty or ours": [
    [
      { ...ironic({ nodes: [LOADED] }), ours: new Set([NODE]) },
      "Success",
      /1 nodes, all loaded by this run/,
    ],
    [ironic({ nodes: [LOADED] }), "Failure", /1 .*: a-1 with our mark\./],
    [
      { ...ironic({ nodes: [{ ...LOADED, marked: false, uuid: "z-9" }] }), ours: new Set([NODE]) },
      "Failure",
      /z-9\./,
    ],
  ],
  "Conductors stopped or staged": [
    [ironic({ conductors: [ALIVE] }), "Failure", /stop ironic-conductor$/],
    [ironic({ conductors: [ALIVE], stages: true }), "Warning", /apply --staged/],
    [
      ironic({ conductors: [ALIVE], stages: true, nodes: [{ ...LOADED, staged: true }] }),
      "Success",
      /every node is staged/,
    ],
  ],
  "Power state in maintenance": [
    [
      ironic({ nodes: [{ ...LOADED, maintenance: true, power_state: "power off" }] }),
      "Failure",
      /a-1 power off.*power_state=NULL/s,
    ],
    [ironic({ nodes: [{ ...LOADED, maintenance: true, power_state: null }] }), "Success", /^null$/],
  ],
  "Time of the hand-over": [
    [
      { ...plan({ takeOvers: 300 }), takeOver: { pace: null, inFlight: 8 } },
      "Warning",
      /: 1 h 54 min, 8 machines every 180 s, by Ironic's .*window: 6 min, 8 .*\nFix: .* --ironic-conf .* --in-flight 40$/,
    ],
    [plan({ takeOvers: 80 }), "Success", /: 30 min, .*window: 40 s, 40 machines every 10 s, /],
    [{ ...plan({ takeOvers: 300 }), takeOver: { pace: WINDOW_PACE } }, "Success", /: 2 min, 40 /],
    [{ takeOver: { pace: { ...WINDOW_PACE, interval: 0 } } }, "Warning", /interval is 0/],
    [{ plan: null }, "Success", /^Take-over of 1 machine in use: 3 min, /],
  ],
  "Time of a rollback": [
    [
      { ...ironic({ keys: [KEY] }), ...plan({ machines: FLEET, ports: 10_000 }) },
      "Warning",
      /^Rolling back 5001 nodes .*\nFix: before a rollback the owner .*: CREATE INDEX nova2ironic_ports_node_id/,
    ],
    [ironic({ keys: [KEY] }), "Success", /^Nothing slows it down\.$/],
  ],
};
const CASES = [
  CASES_MORE,
  CASES_APPLIES,
  CASES_RIGHTS,
  CASES_PLACES,
  LATER_CASES,
  OWN_CASES,
].flatMap((cases) =>
  Object.entries(cases).flatMap(([title, some]) => some.map((one) => [title, ...one] as const)),
);

test("a deployment that is ready passes every check, with exit status 0", () => {
  const rows = checkAll(READY);
  assert.deepEqual(
    rows.filter(({ result }) => result !== "Success"),
    [],
  );
  assert.equal(statusOfChecks(rows), 0);
});

test("every check fails once in this file, and names what fixes it", () => {
  const failing = CASES.filter(([, , result]) => result !== "Success").map(([title]) => title);
  assert.deepEqual([...new Set(failing)].toSorted(), CHECKS.map(({ title }) => title).toSorted());
  for (const [title, change, result] of CASES) {
    if (result === "Success" || change.pairing?.wanted === true) continue;
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
    assert.deepEqual(
      rows.filter(({ result }) => result === "Failure").map(({ title }) => title),
      ["Databases and schema heads"],
    );
    assert.equal(statusOfChecks(rows), 2);
  }
});
