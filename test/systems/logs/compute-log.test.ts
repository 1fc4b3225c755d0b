import assert from "node:assert/strict";
import { test } from "node:test";
import { computeFaults, lastStart } from "../../../src/systems/logs/scan.ts";

const AT = "2023-05-01 10:00:00.1 77";
const MODERN = `${AT} INFO nova.virt.driver [None req-1] Loading compute driver 'ironic.IronicDriver'`;
const JUNO = `${AT} INFO nova.virt.driver [-] Loading compute driver 'nova.virt.ironic.IronicDriver'`;
const LEGACY = `${AT} INFO nova.virt.driver [-] Loading compute driver 'nova.virt.baremetal.driver.BareMetalDriver'`;

async function faults(...texts: readonly string[]): Promise<readonly string[]> {
  const from = async function* (first: number) {
    for (const [at, text] of texts.entries()) if (at + 1 >= first) yield { line: at + 1, text };
  };
  const start = await lastStart(from(1));
  const found: string[] = [];
  for await (const { line, text } of computeFaults(start, from(start?.line ?? 1)))
    found.push(`${line} ${text}`);
  return found;
}

test("a start with the ironic driver and nothing bad since is well, on every release's name of it", async () => {
  const earlier = `${AT} ERROR nova.x [-] of the old driver`;
  for (const start of [MODERN, JUNO])
    assert.deepEqual(await faults(LEGACY, earlier, start, `${AT} WARNING nova.x [-] noise`), []);
});

test("a log without a start proves nothing, and says so", async () => {
  assert.deepEqual(await faults(`${AT} INFO nova.x [-] fine`), [
    "1 it has no nova-compute start: pass a log that begins earlier",
  ]);
  assert.equal((await faults()).length, 1);
});

test("the old driver, or the ironic one before it, is no start of the new one", async () => {
  const [fault, ...more] = await faults(MODERN, LEGACY);
  const pattern = /^2 .*the driver nova.virt.baremetal.driver.BareMetalDriver, not ironic/;
  assert.match(fault ?? "", pattern);
  assert.deepEqual(more, []);
});

test("what says that Ironic is not reached is a fault at WARNING, and secrets are masked", async () => {
  const bad = [
    `${AT} WARNING nova.virt.ironic.client_wrapper [-] Error contacting Ironic server for 'node.list'. Attempt 1 of 60`,
    `${AT} ERROR nova.virt.ironic [-] Unable to authenticate Ironic client. admin_password=hunter2`,
  ];
  const found = await faults(MODERN, ...bad);
  assert.equal(found.length, 2);
  assert.match(found[1] ?? "", /admin_password=\*\*\*$/);
});
