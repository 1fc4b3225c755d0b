import assert from "node:assert/strict";
import { test } from "node:test";
import { createGate, type Runs } from "../../../src/migrate/hosts/rules/gate.ts";
import type { Machine } from "../../../src/model/machine.ts";

/** Of a machine only its row's id and uuid are looked at. */
const MACHINE = { node: { id: 1, uuid: "a-1" } } as Machine;

/** Codes against a machine whose instance is under this host, in the order machines come. */
function codes(clustered: boolean, machines: readonly (readonly [string, Partial<Runs>])[]) {
  const gate = createGate(clustered, { engine: "mysql" });
  return machines.map(([host, runs]) =>
    gate(
      MACHINE,
      { uuid: "b-1", host, node: "A-1" },
      { host, known: true, loads: true, ...runs },
    ).map(({ code }) => code),
  );
}

const HOSTS = ["c-1", "c-2", "c-1", "c-3"].map((host) => [host, {}] as const);

test("where Nova allows one compute host, it is that of the first machine; later Novas have any", () => {
  assert.deepEqual(codes(true, HOSTS), [[], ["N2I-D227"], [], ["N2I-D227"]]);
  assert.deepEqual(codes(false, HOSTS), [[], [], [], []]);
});

test("a machine that does not load for another reason decides nothing", () => {
  const first = [
    ["c-9", { loads: false }],
    ["c-8", { known: false }],
    ["c-7", { host: "c-6" }],
  ] as const;
  assert.deepEqual(codes(true, [...first, ...HOSTS.slice(0, 2)]), [
    ...[[], ["N2I-D225"], ["N2I-D225"]],
    ...[[], ["N2I-D227"]],
  ]);
});

test("everything wrong with an instance's place is told in one finding", () => {
  const [found] = createGate(true, { engine: "mysql" })(
    MACHINE,
    { uuid: "b-1", host: null, node: "a-2" },
    { host: "c-1", known: false, loads: true },
  );
  assert.equal(
    found?.message,
    'instances.host will be NULL, its nova-compute "c-1"; no live nova-compute is called "c-1"; instances.node will be "a-2"',
  );
});

test("another spelling of a node is its machine to MySQL alone", () => {
  const runs = { host: "c-1", known: true, loads: true };
  for (const [engine, node, faults] of [
    ["mysql", "A-1", 0],
    ["postgresql", "A-1", 1],
    ["postgresql", "a-1", 0],
    ["mysql", "a-2", 1],
  ] as const) {
    const found = createGate(false, { engine })(MACHINE, { uuid: "b-1", host: "c-1", node }, runs);
    assert.equal(found.length, faults, `${engine} ${node}`);
  }
});
