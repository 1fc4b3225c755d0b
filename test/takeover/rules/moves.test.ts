import assert from "node:assert/strict";
import { test } from "node:test";
import { MOVES } from "../../../src/model/findings/nova.ts";
import type {
  ComputeHost,
  NodeTenant,
  OwnedCompute,
  OwnedMachine,
  Tenant,
} from "../../../src/model/nova/host-move.ts";
import type { MoveFacts, MoveRequest } from "../../../src/takeover/rules/move-hosts.ts";
import { createMoves } from "../../../src/takeover/rules/moves.ts";

const SERVER = {
  ...{ engine: "sqlite" as const, address: "", database: "nova", version: "3", server: "1" },
};
const NODE = "a0000000-0000-4000-8000-000000000001";
const TENANT = "b0000000-0000-4000-8000-000000000001";

function service(id: number, host: string, more: Partial<ComputeHost> = {}): ComputeHost {
  return {
    ...{ id, host, report_count: 7, last_seen_up: null, age: id === 1 ? 600 : 1 },
    ...{ disabled: false, disabled_reason: null, forced_down: id === 1 },
    ...more,
  };
}

function world(more: Partial<MoveFacts> = {}): MoveFacts {
  return {
    identity: { ...SERVER, schema_version: 423, head: "8f2f1571d55b" },
    hosts: [service(1, "A"), service(2, "B")],
    types: new Map([["B", ["ironic"]]]),
    mappings: new Map(Object.entries({ A: 1, B: 1 })),
    aggregates: new Map(),
    ...more,
  };
}

const ASKED: MoveRequest = {
  ...{ mode: "move", to: ["B"], down: 60, forceAggregates: false, reason: "nova2ironic h1" },
  acceptances: () => [],
};

function compute(more: Partial<OwnedCompute> = {}): OwnedCompute {
  return {
    ...{ id: 11, service_id: null, host: "A", owner: "A", hypervisor_hostname: NODE },
    ...{ hypervisor_type: "ironic", deleted: 0, deleted_at: null },
    ...more,
  };
}

function tenant(more: Partial<Tenant> = {}): Tenant {
  return {
    ...{ id: 21, uuid: TENANT, host: "A", node: NODE, task_state: null, deleted: 0 },
    ...{ vm_state: "active", ...more },
  };
}

function machine(more: Partial<OwnedMachine> = {}): OwnedMachine {
  const none = { evacuations: [], queued: [] };
  return { node: NODE, computes: [compute()], instances: [tenant()], ...none, ...more };
}

interface Inputs {
  readonly world?: Partial<MoveFacts>;
  readonly asked?: Partial<MoveRequest>;
  readonly machine?: Partial<OwnedMachine>;
  readonly tenant?: NodeTenant;
  readonly owner?: string;
  readonly accepts?: readonly "N2I-D260"[];
}

function judged({ world: more, asked, owner = "A", ...of }: Inputs = {}) {
  const { machine: one, tenant: said, accepts = [] } = of;
  const accepted = accepts.map((finding) => ({ finding, reason: "its queue is empty" }));
  const moves = createMoves(world(more), { ...ASKED, acceptances: () => accepted, ...asked });
  return moves.machine(machine(one), owner, said);
}

/** What is judged of host A itself. */
function hostA(more: Partial<MoveFacts>, asked: Partial<MoveRequest> = {}) {
  return createMoves(world(more), { ...ASKED, ...asked }).hosts(["A"]);
}

const hosts = (...all: readonly ComputeHost[]): Inputs => ({ world: { hosts: all } });
const from = (more: Partial<ComputeHost>) => hosts(service(1, "A", more), service(2, "B"));
const to = (more: Partial<ComputeHost>) => hosts(service(1, "A"), service(2, "B", more));
const mapped = (cells: { readonly [host: string]: number }): Inputs => ({
  world: { mappings: new Map(Object.entries(cells)) },
});
const held = (more: Partial<Tenant>): Inputs => ({ machine: { instances: [tenant(more)] } });
const owned = (...computes: readonly OwnedCompute[]): Inputs => ({ machine: { computes } });

const LATER = { ...SERVER, schema_version: 423, head: "13863f4e1612" };
const BUSY = held({ task_state: "rebooting" });
const OF_C = compute({ id: 12, owner: "C" });
const KVM = { node: "kvm1", computes: [] };

/** What stands against a move, by its code: each keeps its machine, and says so in these words. */
const REFUSED: readonly (readonly [string, RegExp, Inputs])[] = [
  ["N2I-D250", /^Source service is not yet forced down!$/, from({ forced_down: false })],
  // A row older than the column, of a host that is only disabled.
  ["N2I-D250", /not yet forced down!$/, from({ forced_down: null, disabled: true })],
  ["N2I-D251", /3 s ago/, from({ age: 3 })],
  ["N2I-D251", /59 s ahead of the database's clock/, from({ age: -59 })],
  ["N2I-D252", /no live nova-compute service of A/, hosts(service(2, "B"))],
  ["N2I-D253", /no live nova-compute service of B$/, hosts(service(1, "A"))],
  ["N2I-D253", /refuses to start/, { world: { hosts: [service(1, "A")], identity: LATER } }],
  ["N2I-D254", /^Destination compute is forced down!$/, to({ forced_down: true })],
  ["N2I-D255", /61 s ago/, to({ age: 61 })],
  ["N2I-D255", /never/, to({ age: null })],
  ["N2I-D256", /maintenance/, to({ disabled: true, disabled_reason: "maintenance" })],
  ["N2I-D257", /QEMU/, { world: { types: new Map([["B", ["QEMU"]]]) } }],
  ["N2I-D258", /no row of it/, mapped({ A: 1 })],
  ["N2I-D258", /cell 2, A to cell 1/, mapped({ A: 1, B: 2 })],
  ["N2I-D260", /task_state rebooting/, BUSY],
  ["N2I-D260", /task_state rebooting/, { ...BUSY, accepts: ["N2I-D260"] }],
  // As it is once a nova-compute began to build it.
  ["N2I-D260", /vm_state is building/, held({ vm_state: "building" })],
  [
    "N2I-D261",
    /^Found an ironic host with more than one instance! Please delete all Nova instances that do not match the instance uuid recorded on the Ironic node\.$/,
    { machine: { instances: [tenant(), tenant({ id: 22, uuid: "another" })] } },
  ],
  ["N2I-D262", /id=11 of A, compute_nodes.id=12 of C/, owned(compute(), OF_C)],
  ["N2I-D263", /from A$/, { machine: { evacuations: ["A", "A"] } }],
  ["N2I-D264", /A is in aggregates none, B in 3/, { world: { aggregates: new Map([["B", [3]]]) } }],
  ["N2I-D265", /node has none, Nova has b0000000/, { tenant: { instance_uuid: null } }],
  ["N2I-D265", /no such node/, { tenant: null }],
  ["N2I-D268", /compute_nodes has C, its instance A/, owned(compute({ owner: "C", host: "C" }))],
  ["N2I-D269", /QEMU/, owned(compute({ hypervisor_type: "QEMU" }))],
  // A host of virtual machines whose service record was deleted.
  ["N2I-D269", /its name is not a uuid/, { machine: { ...KVM, instances: [tenant(KVM)] } }],
];

for (const [code, words, given] of REFUSED)
  test(`${code} keeps its machine: ${words.source}`, () => {
    const { verdict, findings, steps } = judged(given);
    assert.equal(verdict, "blocked");
    assert.deepEqual(steps, []);
    const [found, ...others] = findings;
    assert.deepEqual([found?.code, others], [code, []]);
    assert.match(found?.message ?? "", words);
  });

test("whatever keeps a machine has a case here", () => {
  const shown = new Set(REFUSED.map(([code]) => code));
  for (const [code, { severity }] of Object.entries(MOVES))
    assert.ok(severity !== "blocks" || shown.has(code), code);
});

test("a machine moves with its tenant; a NULL service stays NULL, and one that is set becomes the new host's", () => {
  const plain = judged({ tenant: { instance_uuid: TENANT.toUpperCase() } });
  assert.deepEqual([plain.verdict, plain.findings], ["move", []]);
  const changes = ({ steps }: typeof plain) =>
    steps.map(({ id, before: was, after: is }) => {
      return [id, was?.host, is?.host, was?.service_id, is?.service_id];
    });
  assert.deepEqual(changes(plain), [
    ["compute_nodes:11", "A", "B", null, null],
    ["instances:21", "A", "B", undefined, undefined],
  ]);
  const bound = judged({ machine: { computes: [compute({ service_id: 1 })] } });
  assert.deepEqual(changes(bound)[0], ["compute_nodes:11", "A", "B", 1, 2]);
  // Juno has no column for the host; a row that Kilo did not write yet has NULL in it.
  const { host: _host, ...juno } = compute({ service_id: 1 });
  assert.deepEqual(changes(judged({ machine: { computes: [juno] } }))[0], [
    ...["compute_nodes:11", undefined, undefined, 1, 2],
  ]);
  const unwritten = judged({ machine: { computes: [compute({ service_id: 1, host: null })] } });
  assert.deepEqual(changes(unwritten)[0], ["compute_nodes:11", null, null, 1, 2]);
});

test("what names the new host already is left: a recipe by hand changes the instance alone", () => {
  const idsOf = (given: Inputs) => judged(given).steps.map(({ id }) => id);
  assert.deepEqual(idsOf(held({ host: "B" })), ["compute_nodes:11"]);
  const there = compute({ host: "B", owner: "B" });
  assert.deepEqual(idsOf(owned(there)), ["instances:21"]);
  const whole = { computes: [there], instances: [tenant({ host: "B" })] };
  for (const owner of ["A", "B"]) {
    const { verdict, steps } = judged({ machine: whole, owner });
    assert.deepEqual([verdict, steps], ["there", []]);
  }
});

test("a takeover needs no service record of the dead host, and says that none can be fenced", () => {
  const asked = { mode: "takeover" } as const;
  const gone = { hosts: [service(2, "B")] };
  const moved = judged({ world: gone, asked, machine: { computes: [] } });
  assert.deepEqual([moved.verdict, moved.findings], ["move", []]);
  const { oldHosts: left, fence, findings } = hostA(gone, asked);
  assert.deepEqual([left[0]?.id, fence], [null, []]);
  assert.deepEqual(
    findings.map(({ code, place }) => `${code} ${place}`),
    ["N2I-D267 compute host A", "N2I-D270 compute host A"],
  );
  const codes = hostA(gone).findings.map(({ code }) => code);
  assert.deepEqual(codes, ["N2I-D267"]);
});

test("an instance goes to the destination that took its compute node, whichever comes first", () => {
  const hosts = [service(1, "A"), service(2, "B"), service(3, "C")];
  const both = ["B", "C"];
  for (const owner of both)
    for (const to of [both, both.toReversed()]) {
      const machine = { computes: [compute({ owner, host: owner })] };
      const line = judged({ world: { hosts, mappings: undefined }, asked: { to }, machine });
      assert.deepEqual([line.verdict, line.to], ["move", owner], JSON.stringify(line.findings));
    }
});

test("a report far ahead of the clock is none of a host that lives", () => {
  assert.equal(judged(from({ age: -3600 })).verdict, "move");
});

test("only a takeover clears task_state, and only where somebody accepted it", () => {
  const busy = { instances: [tenant({ task_state: "powering-off" })] };
  const asked = { mode: "takeover" } as const;
  assert.equal(judged({ asked, machine: busy }).verdict, "blocked");
  const accepted = judged({ asked, machine: busy, accepts: ["N2I-D260"] });
  assert.equal(accepted.verdict, "move");
  const step = accepted.steps.find(({ table }) => table === "instances");
  assert.deepEqual([step?.before?.task_state, step?.after?.task_state], ["powering-off", null]);
});

test("other aggregates keep no machine where that was forced", () => {
  const apart = { aggregates: new Map([["B", [3]]]) };
  assert.equal(judged({ world: apart, asked: { forceAggregates: true } }).verdict, "move");
});

test("a takeover fences what is not fenced: forced_down, and before Liberty disabled", () => {
  const fence = (host: ComputeHost) => hostA({ hosts: [host] }, { mode: "takeover" }).fence;
  const after = (host: ComputeHost) => fence(host).map((step) => step.after);
  const common = { host: "A", deleted: 0, disabled_reason: "nova2ironic h1" };
  assert.deepEqual(after(service(1, "A")), []);
  const alive = service(1, "A", { forced_down: false });
  assert.deepEqual(after(alive), [{ ...common, forced_down: true }]);
  // A row older than the column: Nova takes it for false, whoever disabled the host.
  const [step, ...more] = fence(service(1, "A", { forced_down: null, disabled: true }));
  const changed = [step?.before?.forced_down, step?.after?.forced_down];
  assert.deepEqual([changed, more], [[null, true], []]);
  const old = service(1, "A", { forced_down: undefined });
  assert.deepEqual(after(old), [{ ...common, disabled: true }]);
  assert.deepEqual(after({ ...old, disabled: true }), []);
});

test("what concerns a host is said once of it, and whether nova_api was looked at", () => {
  const codes = (more: Partial<MoveFacts>) => hostA(more).findings.map(({ code }) => code);
  assert.deepEqual(codes({}), ["N2I-D267"]);
  assert.deepEqual(codes({ mappings: undefined }), ["N2I-D267", "N2I-D259"]);
});
