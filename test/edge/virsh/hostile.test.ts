import assert from "node:assert/strict";
import { chmodSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import {
  parseDomains,
  takeApart,
  vboxDomains,
  virshDomains,
} from "../../../src/edge/virsh/domains.ts";
import { seeded } from "../../support/seeded.ts";
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
  assert.deepEqual(
    readings.map(({ verdict }) => verdict),
    ["ok", "ok"],
  );
});

for (const [what, program, detail] of [
  ["prints garbage", "head -c 100000 /dev/urandom", "prints what is no virtual machine"],
  ["prints half a document", "echo '<domain><uuid>x'", "prints what is no virtual machine"],
  ["nests without end", "yes '<domain>' | head -n 100000", "prints what is no virtual machine"],
] as const)
  test(`a virsh that ${what} is a protocol error for every machine`, async (t) => {
    const host = otherHost(t);
    replaceVirsh(host, `case $* in *--uuid*) echo a-b ;; *) ${program} ;; esac`);
    const readings = await host.ask([machine(1), machine(2)]);
    for (const reading of readings)
      assert.deepEqual(told(reading), ["protocol-error", null, `virsh on ${HOST} ${detail}`]);
  });

test("a host that sends without end is stopped, and one whose list breaks off is not believed", async (t) => {
  const host = otherHost(t);
  replaceVirsh(host, "case $* in *--uuid*) echo a-b ;; *) yes ;; esac");
  const [flood] = await host.ask([machine(1)]);
  assert.equal(flood?.detail, `${HOST} sends more than can be a list`);
  addDomain(host, 1);
  replaceVirsh(host, 'case $* in *--uuid*) echo a-b ;; *) kill -9 "$PPID" ;; esac');
  const [broken] = await host.ask([machine(1)]);
  assert.equal(broken?.detail, `${HOST} lets ssh in, but stops in the middle of its list`);
});

test("a slow host is left at the deadline, and no process of ours stays", async (t) => {
  for (const [file, detail] of [
    ["hangs", `${HOST} did not answer in time`],
    ["slow", `${HOST} did not list its machines in time`],
  ] as const) {
    const host = otherHost(t);
    host.set(file, "");
    const [reading] = await host.ask([machine(1)], { deadline: 1000 });
    assert.deepEqual(reading && told(reading), ["unreachable", null, detail]);
    assert.ok(reading !== undefined && reading.elapsed >= 900 && reading.elapsed < 3000);
    assert.deepEqual(running(host), []);
  }
});

test("an abort ends it at once, with its own reason", async (t) => {
  const host = otherHost(t);
  host.set("slow", "");
  const reason = new Error("enough");
  const signal = AbortSignal.any([AbortSignal.timeout(10_000)]);
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), 300);
  await assert.rejects(
    host.ask([machine(1)], { signal: AbortSignal.any([signal, controller.signal]) }),
    (error) => error === reason,
  );
  assert.deepEqual(running(host), []);
  await assert.rejects(
    host.ask([machine(1)], { signal: controller.signal }),
    (error) => error === reason,
  );
});

test("no output makes the readers throw, or takes them long", () => {
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
    fc.constantFrom(
      "m all u\n",
      "m on u\n",
      "m end\n",
      'VMState="',
      'macaddress1="080027000000"\n',
    ),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const listed = takeApart(`noise m begin\n${pieces.join("")}`, "m");
      assert.ok(listed !== null);
      virshDomains(listed);
      vboxDomains(listed);
    }),
    seeded(3000),
  );
  const start = performance.now();
  for (const text of ["<", "<!--", "<a", "<domain a='", "<domain></domain>", "m all u\n"]) {
    const long = text.repeat(1_000_000 / text.length);
    parseDomains(long);
    const listed = takeApart(`m begin\n${long}`, "m");
    if (listed !== null) vboxDomains(listed);
  }
  assert.ok(performance.now() - start < 5000);
});

function replaceVirsh(host: OtherHost, program: string): void {
  const path = join(host.folder, "bin/virsh");
  rmSync(path, { force: true });
  host.set("bin/virsh", `#!/bin/sh\n${program}\n`);
  chmodSync(path, 0o700);
}

/** Processes that know this host's folder from their environment. */
function running(host: OtherHost): readonly string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(`/proc/${pid}/environ`, "latin1").includes(`SCENE=${host.folder}`);
    } catch {
      return false;
    }
  });
}
