import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import {
  bigFleet,
  type FarmProcess,
  freeAddresses,
  startFarm,
  startFarmProcess,
} from "../../../src/edge/ipmi/testing/index.ts";
import { answered, CAPABILITIES, exchange } from "./raw.ts";

test("10,000 BMCs are ready in less than 150 MB, and the last one answers", async (t) => {
  const addresses = bigFleet(10_000, 100 + Math.floor(Math.random() * 100));
  const farm = await startFarmProcess({ bmcs: addresses.map((address) => ({ address })) });
  t.after(farm.stop);
  const [answer] = await answered(addresses.at(-1) ?? "", [CAPABILITIES]);
  assert.equal(answer?.from, addresses.at(-1));
  const { rssMiB } = await farm.ask({ do: "usage" });
  assert.ok(rssMiB < 143, `${rssMiB} MiB`);
});

test("a farm in its own process is worked by lines, and says what it cannot do", async (t) => {
  const farm = await lone(t);
  const { address, ask } = farm;
  assert.equal(await ask({ do: "power", address }), false);
  await ask({ do: "set-power", address, on: true });
  assert.equal(await ask({ do: "power", address }), true);
  assert.deepEqual(await ask({ do: "commands" }), []);
  assert.equal((await answered(address, [CAPABILITIES])).length, 1);
  await ask({ do: "change", address, options: { dead: true } });
  assert.equal((await exchange(address, [CAPABILITIES], 100)).length, 0);
  const [of, all] = [await ask({ do: "counts", address }), await ask({ do: "counts" })];
  assert.deepEqual([of.received, of.sent], [1, 1]);
  assert.deepEqual(of, all);
  await assert.rejects(
    ask({ do: "power", address: "127.0.0.9" }),
    /no BMC has the address 127.0.0.9/,
  );
});

test("a farm with an option nobody knows, or an address in use, does not start", async (t) => {
  const farm = await lone(t);
  const { address } = farm;
  await assert.rejects(startFarmProcess({ bmcs: [{ address }] }), /EADDRINUSE/);
  // A file with a typo is what the compiler does not see.
  const typo = { drop: 1 } as object;
  await assert.rejects(startFarmProcess({ all: typo, bmcs: [] }), /a BMC has no option drop/);
  const twice = startFarm({ bmcs: [{ address }, { address }] });
  await assert.rejects(twice, new RegExp(`two BMCs have the address ${address}`));
});

test("a farm dies with the process that started it", async () => {
  const [address = ""] = await freeAddresses(1);
  const program = `
    const { startFarmProcess } = await import(${JSON.stringify(new URL("../../../src/edge/ipmi/testing/process.js", import.meta.url))});
    await startFarmProcess({ bmcs: [{ address: "${address}" }] });
    console.log("up");
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: "pipe" });
  await once(parent.stdout, "data");
  assert.equal((await answered(address, [CAPABILITIES])).length, 1);
  parent.kill("SIGKILL");
  await once(parent, "exit");
  let answers = 1;
  for (let waited = 0; answers > 0 && waited < 5000; waited += 200) {
    await sleep(100);
    answers = (await exchange(address, [CAPABILITIES], 100)).length;
  }
  assert.equal(answers, 0);
});

async function lone(t: {
  readonly after: (end: () => Promise<void>) => void;
}): Promise<FarmProcess & { readonly address: string }> {
  const [address = ""] = await freeAddresses(1);
  const farm = await startFarmProcess({ bmcs: [{ address }] });
  t.after(farm.stop);
  return { ...farm, address };
}
