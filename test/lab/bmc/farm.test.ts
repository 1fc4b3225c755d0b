import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { bound } from "../../support/bmc/addresses.ts";
import { type FarmProcess, startFarm, startFarmProcess } from "../../support/bmc/index.ts";
import { answered, CAPABILITIES, isSilent } from "./raw.ts";

test("a farm in its own process is worked by lines, and says what it cannot do", async (t) => {
  const farm = await lone(t);
  const { address, ask } = farm;
  const at = await ask({ do: "at", address });
  assert.equal(await ask({ do: "power", address }), false);
  await ask({ do: "set-power", address, on: true });
  assert.equal(await ask({ do: "power", address }), true);
  assert.deepEqual(await ask({ do: "commands" }), []);
  assert.equal((await answered(at, [CAPABILITIES])).length, 1);
  await ask({ do: "change", address, options: { silent38: true } });
  assert.ok(await isSilent(at, CAPABILITIES));
  const [of, all] = [await ask({ do: "counts", address }), await ask({ do: "counts" })];
  assert.deepEqual([of.received, of.sent], [3, 2]);
  assert.deepEqual(of, all);
  await assert.rejects(
    ask({ do: "power", address: "127.0.0.9" }),
    /no BMC has the address 127.0.0.9/,
  );
});

test("a farm with an option nobody knows, or an address in use, does not start", async () => {
  const address = "127.0.0.1";
  const socket = await bound(address, 0);
  const { port } = socket.address();
  await assert.rejects(startFarmProcess({ bmcs: [{ address, port }] }), /EADDRINUSE/);
  socket.close();
  // A file with a typo is what the compiler does not see.
  const typo = { drop: 1 } as object;
  await assert.rejects(startFarmProcess({ all: typo, bmcs: [] }), /a BMC has no option drop/);
  const twice = startFarm({ bmcs: [{ address }, { address }] });
  await assert.rejects(twice, new RegExp(`two BMCs have the address ${address}`));
});

test("the process of a farm ends with its stdin, and so with whoever started it", async () => {
  const main = fileURLToPath(new URL("../../support/bmc/main.js", import.meta.url));
  const child = spawn(process.execPath, [main, "-"], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(child, "close");
  child.stdin.write(`${JSON.stringify({ local: true, bmcs: [{ address: "192.0.2.1" }] })}\n`);
  await once(child.stdout, "data");
  child.stdin.destroy();
  child.stdout.resume();
  assert.deepEqual(await ended, [0, null]);
});

async function lone(t: {
  readonly after: (end: () => Promise<void>) => void;
}): Promise<FarmProcess & { readonly address: string }> {
  const address = "192.0.2.1";
  const farm = await startFarmProcess({ local: true, bmcs: [{ address }] });
  t.after(farm.stop);
  return { ...farm, address };
}
