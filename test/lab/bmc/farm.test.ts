import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { bound } from "../../support/bmc/addresses.ts";
import { startFarm, startFarmProcess } from "../../support/bmc/index.ts";

test("a farm in its own process is worked by lines, and says what it cannot do", async (t) => {
  const { ask, stop } = await startFarmProcess({ local: true, bmcs: [{ address: "192.0.2.1" }] });
  t.after(stop);
  assert.deepEqual(await ask({ do: "commands" }), []);
  const change = { do: "change", options: { dead: true } } as const;
  assert.equal(await ask({ ...change, address: "192.0.2.1" }), null);
  await assert.rejects(ask({ ...change, address: "127.0.0.9" }), /no BMC has the address 127/);
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
