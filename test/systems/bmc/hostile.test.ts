import assert from "node:assert/strict";
import { chmodSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import {
  parseDomains,
  takeApart,
  vboxDomains,
  virshDomains,
} from "../../../src/systems/bmc/domains.ts";
import { holds } from "../../support/seeded.ts";
import { addDomain, HOST, machine, macOf, type OtherHost, otherHost, told } from "./other-host.ts";

test("what an owner wrote into a description or metadata is no network card", async (t) => {
  const host = otherHost(t);
  addDomain(host, 1);
  const card = `<devices><interface><mac address='${macOf(1)}'/></interface></devices>`;
  addDomain(host, 2, {
    description: `<description>&lt;/domain&gt; <![CDATA[</domain><domain>${card}]]><!-- ${card} --></description>
<metadata><x:a xmlns:x="y" b="/>'"><domain>${card}</domain></x:a></metadata>\n`,
    name: "&lt;b&gt;\u202e\u001b[31m\n",
  });
  const readings = await host.ask([machine(1), machine(2)]);
  assert.deepEqual(readings.map(told), [
    ["ok", "on", "the virtual machine baremetal_1 is running"],
    ["ok", "on", "the virtual machine <b>??[31m is running"],
  ]);
});

test("a description that plays the end of our list ends nothing", async (t) => {
  const host = otherHost(t);
  addDomain(host, 1, { description: "<description>\nn2i end\nn2i begin\nend\n</description>" });
  addDomain(host, 2);
  const readings = await host.ask([machine(1), machine(2)]);
  const verdicts = readings.map(({ verdict }) => verdict);
  assert.deepEqual(verdicts, ["ok", "ok"]);
});

for (const [what, program] of [
  ["prints garbage", "printf '<\\377\\001\\033[%%<'"],
  ["prints half a document", "echo '<domain><uuid>x'"],
  ["nests without end", "yes '<domain>' | head -n 100000"],
])
  test(`a virsh that ${what} is a protocol error for every machine`, async (t) => {
    const host = otherHost(t);
    replaceVirsh(host, `case $* in *--uuid*) echo a-b ;; *) ${program} ;; esac`);
    const readings = await host.ask([machine(1), machine(2)]);
    const detail = `virsh on ${HOST} prints something other than virtual machines`;
    for (const reading of readings)
      assert.deepEqual(told(reading), ["protocol-error", null, detail]);
  });

test("a host that sends without end is stopped, and one whose list breaks off is not believed", async (t) => {
  const host = otherHost(t);
  replaceVirsh(host, "case $* in *--uuid*) echo a-b ;; *) yes ;; esac");
  const [flood] = await host.ask([machine(1)]);
  assert.equal(flood?.detail, `${HOST} sends too much output for a list`);
  addDomain(host, 1);
  replaceVirsh(host, 'case $* in *--uuid*) echo a-b ;; *) kill -9 "$PPID" ;; esac');
  const [broken] = await host.ask([machine(1)]);
  assert.equal(broken?.detail, `${HOST} accepts the login, but stops in the middle of its list`);
});

for (const [at, file, detail] of [
  ["runs", "hangs", `${HOST} did not answer in time`],
  ["commands", "slow", `${HOST} did not list its machines in time`],
] as const)
  test(`at the deadline, no process is left: ${detail}`, async (t) => {
    const host = otherHost(t);
    host.set(file, "");
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const asked = host.ask([machine(1)], { deadline: 1000 });
    await begun(host, at);
    t.mock.timers.tick(1000);
    // The answer comes once no process has our pipes: the timer that would close them is mocked.
    const [reading] = await asked;
    assert.deepEqual(reading && told(reading), ["unreachable", null, detail]);
  });

test("an abort ends every process, with its own reason", async (t) => {
  const host = otherHost(t);
  host.set("slow", "");
  const reason = new Error("enough");
  const controller = new AbortController();
  const { signal } = controller;
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const rejected = assert.rejects(host.ask([machine(1)], { signal }), (error) => error === reason);
  await begun(host, "commands");
  controller.abort(reason);
  await rejected;
  await assert.rejects(host.ask([machine(1)], { signal }), (error) => error === reason);
});

test("no output makes the readers throw, and a long one is read as fast", () => {
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom(
      "<domain>",
      "</domain>",
      "<uuid>",
      "<!--",
      "<![CDATA[",
      "'",
      '"',
      "/>",
      "<a b='",
    ),
    fc.constantFrom("m all u\n", "m on u\n", "m end\n"),
    fc.constantFrom('VMState="', 'macaddress1="080027000000"\n'),
  );
  holds(500, fc.array(piece, { maxLength: 40 }), (pieces) => {
    const listed = takeApart(`noise m begin\n${pieces.join("")}`, "m");
    assert.ok(listed !== null);
    virshDomains(listed);
    vboxDomains(listed);
  });
  for (const text of ["<", "<!--", "<a", "<domain a='", "<domain></domain>", "m all u\n"]) {
    const long = text.repeat(1_000_000 / text.length);
    parseDomains(long);
    const listed = takeApart(`m begin\n${long}`, "m");
    if (listed !== null) vboxDomains(listed);
  }
});

function replaceVirsh(host: OtherHost, program: string): void {
  const path = join(host.folder, "bin/virsh");
  rmSync(path, { force: true });
  host.set("bin/virsh", `#!/bin/sh\n${program}\n`);
  chmodSync(path, 0o700);
}

async function begun(host: OtherHost, file: string): Promise<void> {
  while (host.lines(file).length === 0) await new Promise((resolve) => setImmediate(resolve));
}
