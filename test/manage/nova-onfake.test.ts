import assert from "node:assert/strict";
import { test } from "node:test";
import type { NovaInMemory } from "./nova-memory.ts";
import { back, forward, forwardEnds, scene } from "./nova-ways.ts";

const STATES = ["power on", "power off"] as const;
const THERE = 12;

/** It has its own hardware, its server, and nothing of a run on it; it heard nothing. */
function given({ node, servers, heard }: NovaInMemory, was: (typeof STATES)[number]): void {
  const [server] = servers.values();
  assert.deepEqual(
    [node.driver, node.maintenance, node.power_state, server?.status, heard],
    ["ipmi", false, was, was === "power on" ? "ACTIVE" : "SHUTOFF", []],
  );
}

for (const was of STATES)
  test(`a run whose machine is ${was}, and off on fake hardware, is resumed`, async (t) => {
    let standing = 0;
    for (let lines = 0; lines <= THERE; lines += 1) {
      const at = await scene(t, { forgets: true });
      const { node, machine } = at.cloud;
      Object.assign(node, { power_state: was });
      machine.power_state = was;
      const before = at.cloud.dump();
      await forward(at, lines);
      if (node.driver !== "ipmi" && node.provision_state === "available") {
        node.power_state = "power off";
        standing += 1;
      }
      assert.deepEqual(await forward(at), [], `after ${lines} lines`);
      given(at.cloud, was);
      assert.deepEqual(await back(at), []);
      assert.equal(at.cloud.dump(), before, `after ${lines} lines`);
    }
    assert.ok(standing > 1, String(standing));
  });

for (const was of STATES)
  test(`a server that its user turns while its machine that is ${was} stands on fake hardware is turned back by the same command`, async (t) => {
    const at = await scene(t);
    const { node, machine, servers } = at.cloud;
    Object.assign(node, { power_state: was });
    machine.power_state = was;
    const before = at.cloud.dump();
    const hasCome = at.cloud.once(
      (call) => servers.size > 0 && /^PUT .*maintenance$/.test(call),
      () => {
        const task = was === "power on" ? "powering-off" : "powering-on";
        for (const server of servers.values()) server["OS-EXT-STS:task_state"] = task;
      },
    );
    await forwardEnds(at, /it stays on fake hardware/);
    assert.ok(hasCome());
    // Nova comes to its end with it, where nothing is behind it.
    const [server] = servers.values();
    const isOn = was === "power on";
    Object.assign(server ?? {}, {
      ...{ status: isOn ? "SHUTOFF" : "ACTIVE", "OS-EXT-STS:task_state": null },
    });
    node.power_state = isOn ? "power off" : "power on";
    assert.deepEqual(await forward(at), []);
    given(at.cloud, was);
    assert.deepEqual(await back(at), []);
    assert.equal(at.cloud.dump(), before);
  });
