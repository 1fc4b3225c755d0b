import assert from "node:assert/strict";
import { test } from "node:test";
import { gate } from "../../../src/core/power/gate.ts";
import { FINDINGS } from "../../../src/model/findings.ts";
import type { Machine } from "../../../src/model/machine.ts";
import type { PowerReading, PowerVerdict } from "../../../src/model/power.ts";

const VIEW = { readings: new Map(), unreachable: null, record: false };

function codes(verdict: PowerVerdict, client: PowerReading["client"], allowed?: string) {
  // The gate reads no more of a machine that nova does not know, nor of a reading.
  const machine = { node: { id: 1, deleted: false }, nova: null } as unknown as Machine;
  const told = { verdict, client, detail: "why", power: null, advice: [], warnings: [] };
  const reading = { ...told, address: "10.0.0.1" } as unknown as PowerReading;
  const view = { ...VIEW, unreachable: allowed ?? null };
  return gate(machine, reading, [], undefined, view);
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
  const machine = { node: { id: 1, deleted: false }, nova: null } as unknown as Machine;
  const words = "set driver_info.ipmi_cipher_suite to 3";
  const advice = [{ key: "ipmi_cipher_suite", value: "3", words }];
  const told = { verdict: "ok", client: "native", detail: "", power: "on", advice, warnings: [] };
  const reading = { ...told, address: "10.0.0.1" } as unknown as PowerReading;
  const detail = (keys: readonly string[]) =>
    gate(machine, reading, keys, undefined, VIEW)[0]?.message;
  assert.equal(detail(["ipmi_cipher_suite"]), words);
  assert.match(String(detail([])), /^cannot set .*: this release does not read it/);
});

for (const [vm_state, power_state, power, told] of [
  ["active", 1, "on", undefined],
  ["active", 4, "on", "BMC says on, nova recorded off"],
  ["stopped", 4, "off", undefined],
  ["stopped", 0, "off", undefined],
  ["stopped", 0, "on", "BMC says on, instances.vm_state is stopped: Nova would switch it off"],
  ["stopped", 1, "on", "BMC says on, instances.vm_state is stopped: Nova would switch it off"],
  [
    ...(["stopped", 4, "on"] as const),
    "BMC says on, nova recorded off; instances.vm_state is stopped: Nova would switch it off",
  ],
  ["error", null, "on", undefined],
] as const)
  test(`a machine that is ${power} with vm_state ${vm_state} and power_state ${power_state} is ${told === undefined ? "as nova has it" : "told of"}`, () => {
    const instance = { deleted: false, vm_state, power_state };
    // The gate reads no more of a machine and of a reading than this.
    const machine = { node: { id: 1 }, nova: { instance } } as unknown as Machine;
    const said = { verdict: "ok", client: "native", detail: "", advice: [], warnings: [] };
    const reading = { ...said, power, address: "10.0.0.1" } as unknown as PowerReading;
    const [found] = gate(machine, reading, [], undefined, VIEW);
    assert.equal(found?.message, told);
  });
