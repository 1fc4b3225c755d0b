import assert from "node:assert/strict";
import type { PlanCounts, PlanHeader } from "../../../src/model/artefact.ts";
import { type Finding, type FindingCode, finding } from "../../../src/model/findings.ts";
import { WINDOW_PACE } from "../../../src/model/handover.ts";
import type { PlannedMachine, Verdict } from "../../../src/model/plan.ts";
import type { Reported, ReportFacts } from "../../../src/window/report/report.ts";
import { createTotals, judge } from "../../../src/window/report/rules/tally.ts";
import { nightOf } from "../../../src/window/report/rules/window.ts";

/** What a database may hold for a name: markup, quotes, line ends, another reading direction. */
export const HOSTILE = `</script><script>alert(1)</script>"'\`|*_<img src=x onerror=alert(2)>\u2028\u202egnp\u0000\n--><!--`;

const sha = (digit: string): string => digit.repeat(64);
const SERVER = { engine: "mysql", version: "10.11", server: "s1" } as const;

export const HEADER: PlanHeader = {
  format: "nova2ironic/plan@2",
  tool: "nova2ironic 0.1.0",
  made_from: { snapshot: sha("a"), mapping: sha("b"), site: sha("c"), power: null },
  source: {
    nova_bm: { ...SERVER, address: "db1:3306", database: "nova_bm", schema_version: 10 },
    nova: { ...SERVER, address: "db1:3306", database: "nova", schema_version: 254 },
  },
  target: {
    ...{ ...SERVER, address: "db2:3306", database: "ironic", alembic_head: "487deb87cc9d" },
    ...{ release: "juno", charset: "utf8mb4" },
  },
  pairing: { nova: 254, nova_bm: 10, ironic: "juno", allowed: "rule", why: "both are Juno" },
  key: "ab12",
  findings: [],
  target_before: { nodes: 0, ports: 0 },
};

/** A machine of a plan; its row is that of a node that Ironic gets. */
export function machineOf(
  id: number,
  verdict: Verdict,
  findings: readonly Finding[] = [],
  more: Partial<PlannedMachine> = {},
): PlannedMachine {
  const uuid = `a0000000-0000-4000-8000-${String(id).padStart(12, "0")}`;
  const record = {
    ...{ resource: "node" as const, id: `node:${uuid}`, change: "create" as const, origins: [0] },
    row: { uuid, driver_info: { ipmi_address: `10.0.0.${id}` }, instance_uuid: null },
  };
  return {
    ...{ bm_node_id: id, uuid, service_host: `compute-${1 + (id % 2)}`, verdict, reason: null },
    ...{ state: { row: "free", outcome: "available" }, findings },
    records: verdict === "create" ? [record] : [],
    ...more,
  };
}

export function accepted(code: FindingCode, reason: string): Finding {
  return { ...finding(code, "bm_nodes.id=1", "as seen"), accepted: reason };
}

const silent = (id: number) => finding("N2I-D600", `bm_nodes.id=${id}`, "timed out");
const TILERA = finding("N2I-D308", "bm_nodes.id=6", "tilera");

/** Seven machines: two are blocked, one is loaded on somebody's word, one is left out. */
export const MACHINES: readonly PlannedMachine[] = [
  machineOf(1, "create"),
  machineOf(2, "create", [finding("N2I-D304", "bm_nodes.id=2", "no user")]),
  machineOf(3, "blocked", [silent(3)], { reason: "N2I-D600 timed out" }),
  machineOf(4, "blocked", [silent(4)], { service_host: HOSTILE, reason: HOSTILE }),
  machineOf(5, "create", [accepted("N2I-D604", `no BMC there | ${HOSTILE}`)]),
  machineOf(6, "skipped", [TILERA], { reason: "scrapped in May" }),
  machineOf(7, "create"),
];

export const COUNTS: PlanCounts = {
  ...{ machines: 7, nodes: 4, ports: 8 },
  verdicts: { create: 4, unchanged: 0, drift: 0, conflict: 0, blocked: 2, skipped: 1 },
  findings: { "N2I-D600": 2, "N2I-D604": 1, "N2I-D304": 1, "N2I-D308": 1, "N2I-D013": 3 },
};

const NOVA: NonNullable<ReportFacts["nova"]> = {
  counts: { hosts: 6, flavors: 2, findings: 3, stopped: ["compute-1", "compute-2"] },
  groups: [
    { table: "instances", change: "update", what: "host", rows: 2 },
    { table: "compute_nodes", change: "update", what: "host, service_id", rows: 4 },
    {
      ...{ table: "instance_type_extra_specs", change: "delete", rows: 2 },
      what: `flavor ${HOSTILE}: baremetal:deploy_kernel_id`,
    },
  ],
  findings: [
    finding("N2I-D304", "services.id=4", "host compute-1 is up"),
    finding("N2I-D304", `flavor ${HOSTILE}`, HOSTILE),
  ],
};

const ran = (command: string, minute: number, seconds: number, pid: number) => ({
  ...{ command, seconds, at: `2026-01-02T01:0${minute}:00.000Z`, status: 0, result: "done" },
  by: `root@admin pid ${pid}`,
});
const RAN = [ran("extract", 0, 12.2, 1), ran("plan", 5, 100, 2)];

export function sampleFacts(more: Partial<ReportFacts> = {}): ReportFacts {
  const tally = createTotals();
  for (const machine of MACHINES) tally.add(machine);
  const totals = tally.end(COUNTS);
  return {
    ...{ run: `m1${HOSTILE}`, at: "2026-01-02T03:04:05.000Z", tool: "nova2ironic 0.1.0" },
    plan: {
      ...{ header: { ...HEADER, origins: [] }, counts: COUNTS, sha256: sha("d") },
      taken_at: "2026-01-02T01:00:00.000Z",
    },
    verdict: judge({
      ...{ header: HEADER, counts: COUNTS, totals, nova: NOVA, fresh: true },
      status: { load: "none", staged: 0, verified: "no", ended: false },
    }),
    ...{ totals, nova: NOVA, ran: RAN, next: "nova2ironic apply --run m1" },
    window: { from: 22 * 60, to: 38 * 60 },
    night: nightOf({
      ...{ machines: 20_000, takeOvers: 20_000, rows: 12, perMinute: 20, pace: WINDOW_PACE },
      ...{ stopped: NOVA.counts.stopped, boots: true, staged: false },
      measured: { ran: RAN, loaded: { count: 24, seconds: 2 }, handed: null },
    }),
    undo: ["nova2ironic rollback --run m1 --all --plan", "nova2ironic rollback --run m1 --all"],
    state: { extract: "7 machines", plan: "4 nodes" },
    ...more,
  };
}

/** So many machines, by turns as those above; the name of one instance is a formula. */
export function reported(machines: number): readonly Reported[] {
  return Array.from({ length: machines }, (_, at) => {
    const kind = MACHINES[at % MACHINES.length];
    assert.ok(kind);
    const { verdict, service_host, reason, findings } = kind;
    const planned = machineOf(at + 1, verdict, findings, { reason, service_host });
    return {
      planned,
      machine: {
        ...{ bm_node_id: at + 1, uuid: planned.uuid, verdict, host: service_host, reason },
        ...{ address: `10.0.0.${at + 1}`, instance_uuid: null },
        instance: at === 499 ? '=cmd("a")' : HOSTILE,
        codes: findings.map(({ code }) => code),
      },
    };
  });
}
