import assert from "node:assert/strict";
import { chmodSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { addDomain, HOST, machine, macOf, otherHost, told } from "./other-host.ts";

test("each machine has the power of the domain with its MAC, however the MAC is written", async (t) => {
  const host = otherHost(t);
  addDomain(host, 1);
  addDomain(host, 2, { state: "shut off", macs: ["00:16:3e:00:00:02", macOf(2)] });
  addDomain(host, 3, { state: "paused", macs: [macOf(3).toUpperCase()] });
  const readings = await host.ask([
    machine(3, ["525400000003"]),
    machine(1),
    machine(2, ["not a MAC", macOf(2).toUpperCase().replaceAll(":", "-")]),
  ]);
  assert.deepEqual(readings.map(told), [
    ["ok", "on", "the virtual machine baremetal_3 is paused"],
    ["ok", "on", "the virtual machine baremetal_1 is running"],
    ["ok", "off", "the virtual machine baremetal_2 is shut off"],
  ]);
  assert.equal(host.lines("runs").length, 1);
});

test("a reading says whom it asked, when, and nothing a BMC alone can say", async (t) => {
  const host = otherHost(t);
  addDomain(host, 1);
  const [reading] = await host.ask([machine(7, [macOf(1)])]);
  assert.ok(reading !== undefined && reading.elapsed > 0);
  assert.deepEqual(
    { ...reading, elapsed: 0 },
    {
      ...{ bm_node_ids: [7], address: HOST, client: "virsh", power: "on", verdict: "ok" },
      detail: "the virtual machine baremetal_1 is running",
      ...{ suite: null, suites: null, kg: null, privilege: null, device: null },
      ...{ manufacturer: null, firmware: null, attempts: 1, pass: 1, rtt: null, elapsed: 0 },
      ...{ asked_at: "2026-01-02T03:04:05.000Z", warnings: [], advice: [] },
    },
  );
});

test("a machine no domain has, and one that two have, are told apart and never on or off", async (t) => {
  const host = otherHost(t);
  addDomain(host, 1);
  addDomain(host, 2, { macs: [macOf(2), macOf(9)] });
  addDomain(host, 3, { macs: [macOf(9)], state: "shut off" });
  const readings = await host.ask([
    machine(4),
    machine(9),
    machine(5, [macOf(1), macOf(2)]),
    machine(6, ["", "52:54:00"]),
  ]);
  const two = "2 virtual machines on the host have its MACs: ";
  assert.deepEqual(readings.map(told), [
    ["protocol-error", null, "no virtual machine on the host has a MAC of this machine"],
    ["protocol-error", null, `${two}baremetal_2 and baremetal_3`],
    ["protocol-error", null, `${two}baremetal_1 and baremetal_2`],
    ["incomplete", null, "the machine has no interface with a MAC that identifies it"],
  ]);
});

test("a domain that has a MAC twice is one domain", async (t) => {
  const host = otherHost(t);
  addDomain(host, 1, { macs: [macOf(1), macOf(1)] });
  assert.equal((await host.ask([machine(1, [macOf(1), macOf(1)])]))[0]?.verdict, "ok");
});

test("200 domains come over one connection, and virsh only lists", async (t) => {
  const host = otherHost(t);
  const all = Array.from({ length: 200 }, (_, at) => at);
  for (const at of all) addDomain(host, at, { state: at % 3 === 0 ? "shut off" : "running" });
  const readings = await host.ask(all.map((at) => machine(at)));
  for (const [at, { power }] of readings.entries())
    assert.equal(power, at % 3 === 0 ? "off" : "on");
  assert.equal(readings.length, all.length);
  assert.equal(host.lines("runs").length, 1);
  const lines = host.lines("commands");
  const commands = lines.map((line) => line.replace(/^--quiet --connect \S+ /, ""));
  assert.equal(commands.length, 3 + 200 / 50);
  const lists = /^(list --all --uuid|list --uuid( --state-paused)?|( ?dumpxml [\da-f-]{36};)+)$/;
  for (const command of commands) assert.match(command, lists);
});

test("what a login shell prints before our line is not looked at", async (t) => {
  const host = otherHost(t);
  addDomain(host, 1);
  const shell = join(host.folder, "login");
  const greeting = 'echo "welcome to a host of virtual machines, each a <domain>"';
  host.set("login", `#!/bin/sh\n${greeting}\nexec /bin/sh "$@"\n`);
  chmodSync(shell, 0o700);
  host.set("shell", shell);
  assert.equal((await host.ask([machine(1)]))[0]?.power, "on");
});

test("nothing is sent for no machines, or for machines without a MAC", async (t) => {
  const host = otherHost(t);
  assert.deepEqual(await host.ask([]), []);
  const [reading] = await host.ask([machine(1, [])]);
  assert.deepEqual([reading?.verdict, reading?.client, reading?.attempts], ["incomplete", null, 0]);
  assert.deepEqual(host.lines("runs"), []);
});

test("ssh gets no other environment than what it needs", async (t) => {
  const host = otherHost(t);
  addDomain(host, 1);
  t.after(() => {
    delete process.env.N2I_TEST_SECRET;
  });
  process.env.N2I_TEST_SECRET = "of somebody else";
  assert.equal((await host.ask([machine(1)]))[0]?.verdict, "ok");
  assert.ok(!host.lines("environment").some((line) => line.startsWith("N2I_TEST_SECRET")));
});

test("VBoxManage is asked alike", async (t) => {
  const host = otherHost(t);
  const add = (at: number, state: string): void =>
    host.set(
      `domains/6695eb01-f6a4-8304-79aa-00000000000${at}.vbox`,
      `name="vm {${at}}"\nmacaddress1="08002700000${at}"\nVMState="${state}"\ndescription:\nname="x"\n`,
    );
  for (const [at, state] of ["running", "poweroff", "saved", "teleporting", "paused"].entries())
    add(at, state);
  const readings = await host.ask(
    [0, 1, 2, 3, 4].map((at) => machine(at, [`08:00:27:00:00:0${at}`])),
    { virtual_power_type: "vbox" },
  );
  assert.deepEqual(readings.map(told), [
    ["ok", "on", "the virtual machine vm {0} is running"],
    ["ok", "off", "the virtual machine vm {1} is poweroff"],
    ["ok", "off", "the virtual machine vm {2} is saved"],
    ["protocol-error", null, "the virtual machine vm {3} is neither on nor off: teleporting"],
    ["ok", "on", "the virtual machine vm {4} is paused"],
  ]);
  for (const command of host.lines("commands"))
    assert.match(command, /^(list vms|showvminfo [\da-f-]{36} --machinereadable)$/);
});

test("a host without virsh, and one whose virsh may not list, say so", async (t) => {
  const host = otherHost(t);
  host.set("refuses", "");
  const [refused] = await host.ask([machine(1)]);
  assert.equal(refused?.detail, `virsh on ${HOST} does not list any machines for stack`);
  unlinkSync(join(host.folder, "bin/virsh"));
  const [missing] = await host.ask([machine(1)]);
  // This very machine may have the real one, which has no server to ask.
  assert.ok([`${HOST} has no program virsh`, refused?.detail].includes(missing?.detail ?? ""));
  assert.equal(missing?.verdict, "protocol-error");
});
