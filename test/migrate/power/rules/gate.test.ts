import assert from "node:assert/strict";
import { test } from "node:test";
import { gate, meaningOf } from "../../../../src/migrate/power/rules/gate.ts";
import type { PowerMethod } from "../../../../src/migrate/transform/power-query.ts";
import { FINDINGS } from "../../../../src/model/findings.ts";
import type { Machine } from "../../../../src/model/machine.ts";
import type { ConductorIpmitool, PowerReading, PowerVerdict } from "../../../../src/model/power.ts";

/** The gate reads no more of a machine that nova does not know, nor of a reading below. */
const MACHINE = { node: { id: 1, deleted: false }, nova: null } as unknown as Machine;
const VIEW = { readings: new Map(), unreachable: null, record: false };
const WITHOUT = { keys: [], ipmitool: "1.8.19" } as const;

function codes(verdict: PowerVerdict, client: PowerReading["client"], allowed?: string) {
  const told = { verdict, client, detail: "why", power: null, advice: [], warnings: [] };
  const reading = { ...told, address: "10.0.0.1" } as unknown as PowerReading;
  const view = { ...VIEW, unreachable: allowed ?? null };
  return gate(MACHINE, reading, null, WITHOUT, view);
}

for (const [verdict, bmc, host] of [
  ["unreachable", "N2I-D600", "N2I-D608"],
  ["wrong-password", "N2I-D601", "N2I-D609"],
  ["protocol-error", "N2I-D606", "N2I-D610"],
] as const)
  test(`${verdict} is said of a BMC, or of the host of a virtual machine, whichever was asked`, () => {
    assert.deepEqual(
      [codes(verdict, "native"), codes(verdict, "virsh")].map(([first]) => first?.code),
      [bmc, host],
    );
    assert.doesNotMatch(`${FINDINGS[host].title} ${FINDINGS[host].advice}`, /BMC/);
  });

test("a closed port and silence midway block, and --max-unreachable covers neither", () => {
  for (const [verdict, code] of [
    ["port-closed", "N2I-D630"],
    ["silent", "N2I-D606"],
  ] as const) {
    const [told] = codes(verdict, "native", "said so");
    assert.deepEqual([told?.code, told?.accepted], [code, undefined]);
  }
});

test("silence of a host is allowed by --max-unreachable as a BMC's is, and a refusal is not", () => {
  for (const client of ["native", "virsh"] as const) {
    assert.equal(codes("unreachable", client, "said so")[0]?.accepted, "said so");
    assert.equal(codes("wrong-password", client, "said so")[0]?.accepted, undefined);
  }
});

test("advice to set a key is given for the releases that read the key only", () => {
  const told = { verdict: "ok", client: "native", detail: "", power: "on", warnings: [] };
  const own = { suite: 3, suites: [3, 17], asked: { words: "", ipmitool: "1.8.19", machines: [] } };
  const reading = { ...told, ...own, address: "10.0.0.1" } as unknown as PowerReading;
  const detail = (keys: readonly string[]) =>
    gate(MACHINE, reading, null, { ...WITHOUT, keys }, VIEW)[0]?.message;
  assert.equal(detail(["ipmi_cipher_suite"]), "set driver_info.ipmi_cipher_suite to 3");
  assert.match(String(detail([])), /^cannot set .*: this release does not read it/);
});

/** What the conductor's ipmitool takes, by what the BMC lists and which suite was tried and opened. */
const SUITES: readonly (readonly [
  ConductorIpmitool,
  readonly number[] | null,
  ConductorIpmitool,
  number,
  readonly string[],
])[] = [
  // A BMC that does not list its suites is slow to an ipmitool that asks, and nothing else.
  ["1.8.18", null, "1.8.18", 3, []],
  ["1.8.19", null, "1.8.19", 3, ["N2I-D628"]],
  ["1.8.19", null, "1.8.18", 3, ["N2I-D628"]],
  ["1.8.18", null, "1.8.18", 17, ["N2I-D602"]],
  ["1.8.18", [3, 17], "1.8.18", 3, []],
  ["1.8.19", [3, 17], "1.8.19", 17, []],
  ["1.8.19", [3], "1.8.18", 3, []],
  // It lists 17 and refuses it: quirk Q9.
  ["1.8.19", [3, 17], "1.8.19", 3, ["N2I-D602"]],
  ["1.8.18", [17], "1.8.18", 17, ["N2I-D602"]],
  // Nobody tried what this conductor takes.
  ["1.8.18", [3, 17], "1.8.19", 17, ["N2I-D612"]],
  ["1.8.19", [3, 17], "1.8.18", 3, ["N2I-D612"]],
];

test("a BMC that is silent once it was asked for its suites has one to be set, if it will be asked", () => {
  const told = { verdict: "ok", client: "native", power: "on", suite: 3, suites: [3] };
  const reading = { ...told, warnings: ["N2I-D631"] } as unknown as PowerReading;
  const words = "set driver_info.ipmi_cipher_suite to 3";
  assert.deepEqual(meaningOf(reading, null, "1.8.19"), {
    advice: [{ key: "ipmi_cipher_suite", value: "3", words }],
    ...{ untried: null, warnings: ["N2I-D631"] },
  });
  const given = {
    kind: "ipmi",
    login: { suite: 3, level: "ADMINISTRATOR" },
  } as unknown as PowerMethod;
  for (const [way, ipmitool] of [
    [null, "1.8.18"],
    [given, "1.8.19"],
  ] as const)
    assert.deepEqual(meaningOf(reading, way, ipmitool), {
      advice: [],
      untried: null,
      warnings: [],
    });
});

for (const [conductor, suites, ipmitool, suite, expected] of SUITES)
  test(`suite ${suite} of ${JSON.stringify(suites)}, asked as ${ipmitool}, is ${expected.join() || "good"} for a conductor with ipmitool ${conductor}`, () => {
    const warnings = suites === null ? ["N2I-D628"] : [];
    const told = { verdict: "ok", client: "native", detail: "", power: "on", warnings };
    const asked = { words: "", ipmitool, machines: [] };
    const reading = { ...told, suite, suites, asked } as unknown as PowerReading;
    const of = { keys: ["ipmi_cipher_suite"], ipmitool: conductor };
    assert.deepEqual(
      gate(MACHINE, reading, null, of, VIEW).map(({ code }) => code),
      expected,
    );
    // What `power` shows is what `plan` holds against it.
    const { advice, untried, warnings: remaining } = meaningOf(reading, null, conductor);
    const shown = [
      ...advice.map(() => "N2I-D602"),
      ...(untried === null ? [] : ["N2I-D612"]),
      ...remaining,
    ];
    assert.deepEqual(shown, expected);
  });

for (const [vm_state, power_state, power, told] of [
  ["active", 1, "on", undefined],
  ["active", 4, "on", "BMC reports on, nova recorded off"],
  ["stopped", 4, "off", undefined],
  ["stopped", 0, "off", undefined],
  ["stopped", 0, "on", "BMC reports on, instances.vm_state is stopped: Nova would power it off"],
  ["stopped", 1, "on", "BMC reports on, instances.vm_state is stopped: Nova would power it off"],
  [
    ...(["stopped", 4, "on"] as const),
    "BMC reports on, nova recorded off; instances.vm_state is stopped: Nova would power it off",
  ],
  ["error", null, "on", undefined],
] as const)
  test(`a machine that is ${power} with vm_state ${vm_state} and power_state ${power_state} is ${told === undefined ? "as nova has it" : "told of"}`, () => {
    const instance = { deleted: false, vm_state, power_state };
    // The gate reads no more of a machine and of a reading than this.
    const machine = { node: { id: 1 }, nova: { instance } } as unknown as Machine;
    const said = { verdict: "ok", client: "native", detail: "", suite: null, warnings: [] };
    const reading = { ...said, power, address: "10.0.0.1" } as unknown as PowerReading;
    const [found] = gate(machine, reading, null, WITHOUT, VIEW);
    assert.equal(found?.message, told);
  });
