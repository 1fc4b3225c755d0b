import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Cloud, cloud, looksUntil, SILENT, until } from "./agent-cloud.ts";
import { report } from "./legacy-cloud.ts";

/** A site's fence that writes down whom it was told of, and waits until it may go on. */
function slowFence({ folder }: Cloud) {
  const program = join(folder, "fence");
  const script = `#!/bin/sh\necho "$1" >>${folder}/told\nwhile [ ! -e ${folder}/on ]; do sleep 0.05; done\n`;
  writeFileSync(program, script, { mode: 0o700 });
  const told = join(folder, "told");
  return {
    more: { fenceCommand: program },
    told: (): string => (existsSync(told) ? readFileSync(told, "utf8") : ""),
    goOn: () => writeFileSync(join(folder, "on"), ""),
  };
}

test("a host without machines, or whose machines others take, is not fenced", async (t) => {
  const made = await cloud("mysql", t, { machines: 2 });
  const fence = slowFence(made);
  fence.goOn();
  await made.agents(
    ["B"],
    async (tick) => {
      await made.nova("services").where({ host: "B" }).update({ disabled: true });
      await tick(SILENT + 4);
      assert.equal(fence.told(), "", "Nova gives B no work");
      await made.nova("services").where({ host: "B" }).update({ disabled: false });
      await made.bm("bm_nodes").update({ service_host: "D" });
      await tick(8);
      assert.equal(fence.told(), "", "nothing is lost with it");
      assert.deepEqual(await made.lease("A"), [4, null]);
    },
    fence.more,
  );
});

test("a host that lives again while another is fenced keeps its machines, and the site's fence is not told of it", async (t) => {
  const made = await cloud("mysql", t, { hosts: ["A", "B", "C", "D", "E", "F"], machines: 6 });
  const { bm } = made;
  for (const host of ["E", "F"]) await made.dead(host);
  for (const host of ["C", "D"]) await made.dead(host, { heartbeat_ms: Date.now(), ttl_ms: 1e9 });
  await bm("bm_nodes").where("id", ">", 2).update({ service_host: "E" });
  await bm("bm_nodes").where("id", ">", 4).update({ service_host: "F" });
  const fence = slowFence(made);
  await made.agents(
    ["B"],
    async (_tick, look) => {
      await looksUntil(look, async () => fence.told() === "A\n");
      const lives = { heartbeat_ms: Date.now(), ttl_ms: 1e9 };
      await bm("bm_service_leases").where({ host: "E" }).update(lives);
      fence.goOn();
      await until(async () => (await made.lease("F"))[1] === "B");
    },
    fence.more,
  );
  assert.equal(fence.told(), "A\nF\n");
  assert.deepEqual(await made.lease("E"), [4, null]);
});

test("what a fence waited for counts: leases that ran out meanwhile are an ALARM, and a host of which Nova heard lives", async (t) => {
  for (const meanwhile of ["alarm", "heard", "own"] as const) {
    const made = await cloud("mysql", t, { machines: 4 });
    const { bm, nova } = made;
    for (const host of ["C", "D"]) await made.dead(host, { heartbeat_ms: Date.now(), ttl_ms: 1e9 });
    const fence = slowFence(made);
    await made.agents(
      ["B"],
      async (_tick, look) => {
        await looksUntil(look, async () => fence.told() === "A\n");
        if (meanwhile === "alarm")
          await bm("bm_service_leases").whereIn("host", ["C", "D"]).update({ heartbeat_ms: 1 });
        if (meanwhile === "heard") await report(nova, ["A"]);
        if (meanwhile === "own")
          await bm("bm_service_leases").where({ host: "B" }).update({ heartbeat_ms: 1 });
        fence.goOn();
        // Its lock is given back once it is done.
        await until(async () => (await bm("bm_locks").whereNotNull("owner")).length === 0);
      },
      fence.more,
    );
    assert.deepEqual(await made.lease("A"), [4, null], meanwhile);
  }
});
