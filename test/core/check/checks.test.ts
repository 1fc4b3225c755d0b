import assert from "node:assert/strict";
import { test } from "node:test";
import { CHECKS, checkAll, statusOfChecks } from "../../../src/core/check/checks.ts";
import type {
  BmFacts,
  CheckView,
  IronicFacts,
  NovaFacts,
  Outcome,
} from "../../../src/model/check.ts";

const [NODE, INSTANCE] = ["a-1", "b-1"];
const BM: BmFacts = {
  version: 10,
  nodes: [
    { id: 1, uuid: NODE, service_host: "c-1", instance_uuid: INSTANCE, task_state: "active" },
    { id: 2, uuid: "a-2", service_host: "c-1", instance_uuid: null, task_state: null },
  ],
};
const BEAT = { id: 1, host: "c-1", report_count: 10, updated_at: "2014-06-01 12:00:00" };
const TENANT = { uuid: INSTANCE, node: NODE, task_state: null, deleted: false };
const NOVA: NovaFacts = {
  ...{ version: 254, instances: [TENANT], volumes: [], evacuations: [] },
  ...{ beats: [BEAT], later: [BEAT] },
};
const LOADED = {
  ...{ uuid: NODE, instance_uuid: INSTANCE, maintenance: false, staged: false },
  ...{ power_state: "power on", marked: true },
};
const IRONIC: IronicFacts = {
  ...{ release: "juno", charset: "utf8mb3", stages: false, forbidden: [] },
  ...{ conductors: [], nodes: [] },
};
const READY: CheckView = {
  watched: 60,
  pairing: { allowed: "rule", why: "nova 254, nova_bm 10, ironic juno", wanted: false },
  servers: [{ option: "--nova-db", ahead: 40, wsrep: {} }],
  ...{ bm: BM, nova: NOVA, ironic: IRONIC },
  run: { path: "/srv/m1", free: 1e12 },
};
const ALIVE = { hostname: "cond-1", group: "", alive: true, drivers: [] };
const [HEAD, GRANT] = ["N2I-E204", "N2I-E206"].map((code) => ({
  refused: { code, message: "the reason", fix: "the way out" },
}));

const nova = (more: Partial<NovaFacts>) => ({ nova: { ...NOVA, ...more } });
const ironic = (more: Partial<IronicFacts>) => ({ ironic: { ...IRONIC, ...more } });
const node = (more: Partial<BmFacts["nodes"][number]>) => ({
  bm: { ...BM, nodes: BM.nodes.map((row) => (row.id === 2 ? { ...row, ...more } : row)) },
});
const server = (ahead: number, wsrep = {}) => ({
  servers: [{ option: "--nova-db", ahead, wsrep }],
});
const WHOLE = {
  ...{ wsrep_cluster_status: "Primary", wsrep_local_state_comment: "Synced", wsrep_ready: "ON" },
};

/** Title, what is otherwise than ready, what the row says then. */
const CASES: readonly (readonly [string, Partial<CheckView>, Outcome, RegExp])[] = [
  [
    "Databases and schema heads",
    HEAD ? { ironic: HEAD } : {},
    "Failure",
    /E204 the reason\nMend: the way out/,
  ],
  ["Databases and schema heads", { nova: null }, "Warning", /give --nova-db/],
  [
    "Pairing of releases",
    { pairing: { allowed: "override", why: "nova 233", wanted: false } },
    "Failure",
    /nova 233.*--allow-pairing/s,
  ],
  [
    "Pairing of releases",
    { pairing: { allowed: "override", why: "nova 233", wanted: true } },
    "Warning",
    /nova 233/,
  ],
  ["Privileges", GRANT ? { bm: GRANT } : {}, "Failure", /E206 the reason/],
  ["Privileges", ironic({ forbidden: ["INSERT nodes"] }), "Failure", /INSERT nodes.*GRANT/s],
  ["Clock skew", server(-2500), "Warning", /--nova-db by -2\.5 s/],
  ["Clock skew", server(31_000), "Failure", /chronyc/],
  ["Galera state", server(0, WHOLE), "Success", /^null$/],
  [
    "Galera state",
    server(0, { ...WHOLE, wsrep_local_state_comment: "Donor/Desynced" }),
    "Failure",
    /Donor/,
  ],
  ["Charsets", ironic({ charset: "latin1" }), "Warning", /CONVERT TO/],
  ["Disk space of the run", { run: { path: "/srv/m1", free: 1000 } }, "Failure", /df -h/],
  [
    "nova-compute stopped",
    nova({ later: [{ ...BEAT, report_count: 11 }] }),
    "Failure",
    /c-1 \(report_count 11.*systemctl stop nova-compute/s,
  ],
  [
    "nova-compute stopped",
    nova({ later: [{ ...BEAT, host: "kvm-1", report_count: 11 }] }),
    "Success",
    /60 s/,
  ],
  ["nova-compute stopped", { watched: 5 }, "Warning", /proves nothing/],
  [
    "Deployments in flight",
    node({ instance_uuid: "b-2", task_state: "deploying" }),
    "Failure",
    /bm_nodes\.id=2 deploying/,
  ],
  [
    "Deployments in flight",
    nova({ instances: [{ ...TENANT, task_state: "spawning" }] }),
    "Failure",
    /b-1 spawning/,
  ],
  ["Duplicate instances", node({ instance_uuid: "B-1" }), "Failure", /b-1 by bm_nodes\.id 1 and 2/],
  ["Unmatched instances", nova({ instances: [] }), "Failure", /b-1 is unknown to nova/],
  [
    "Unmatched instances",
    nova({ instances: [{ ...TENANT, node: "a-2" }] }),
    "Failure",
    /is on node a-2 in nova/,
  ],
  [
    "Unmatched instances",
    nova({ instances: [TENANT, { ...TENANT, uuid: "b-9" }] }),
    "Failure",
    /b-9 is on a-1 in nova alone/,
  ],
  [
    "Unmatched instances",
    ironic({ nodes: [{ ...LOADED, instance_uuid: null }] }),
    "Failure",
    /has none in Ironic, b-1 in nova_bm/,
  ],
  [
    "Deleted instances",
    nova({ instances: [{ ...TENANT, deleted: true }] }),
    "Failure",
    /bm_nodes\.id=1 b-1/,
  ],
  [
    "Evacuation records",
    nova({ evacuations: [{ instance_uuid: INSTANCE, source: "c-9" }] }),
    "Failure",
    /b-1 from c-9.*UPDATE migrations/s,
  ],
  ["Evacuation records", nova({ evacuations: null }), "Success", /keeps no records/],
  ["Attached volumes", nova({ volumes: [INSTANCE] }), "Failure", /volume-detach/],
  ["Target empty or ours", ironic({ nodes: [LOADED] }), "Success", /1 nodes, all loaded/],
  ["Target empty or ours", ironic({ nodes: [{ ...LOADED, marked: false }] }), "Warning", /a-1/],
  [
    "Conductors stopped or staged",
    ironic({ conductors: [ALIVE] }),
    "Failure",
    /stop ironic-conductor$/,
  ],
  [
    "Conductors stopped or staged",
    ironic({ conductors: [ALIVE], stages: true }),
    "Warning",
    /apply --staged/,
  ],
  [
    "Conductors stopped or staged",
    ironic({ conductors: [ALIVE], stages: true, nodes: [{ ...LOADED, staged: true }] }),
    "Success",
    /every node is staged/,
  ],
  [
    "Power state in maintenance",
    ironic({ nodes: [{ ...LOADED, maintenance: true, power_state: "power off" }] }),
    "Failure",
    /a-1 power off.*power_state=NULL/s,
  ],
  [
    "Power state in maintenance",
    ironic({ nodes: [{ ...LOADED, maintenance: true, power_state: null }] }),
    "Success",
    /^null$/,
  ],
];

test("a deployment that is ready passes every check, with exit status 0", () => {
  const rows = checkAll(READY);
  assert.deepEqual(
    rows.filter(({ result }) => result !== "Success"),
    [],
  );
  assert.equal(statusOfChecks(rows), 0);
});

test("every check fails once in this file, and names what mends it", () => {
  const failing = CASES.filter(([, , result]) => result !== "Success").map(([title]) => title);
  assert.deepEqual([...new Set(failing)].toSorted(), CHECKS.map(({ title }) => title).toSorted());
  for (const [title, change, result] of CASES) {
    if (result === "Success" || change.pairing?.wanted === true) continue;
    const row = checkAll({ ...READY, ...change }).find((found) => found.title === title);
    assert.match(row?.details ?? "", /\nMend: ./, title);
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
