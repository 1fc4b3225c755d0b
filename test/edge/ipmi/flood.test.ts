import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { askAll } from "../../../src/edge/ipmi/index.ts";
import { freeAddresses, startFarmProcess } from "../../../src/edge/ipmi/testing/index.ts";

const FLOODER = fileURLToPath(new URL("flooder.js", import.meta.url));
const password = "s3cret-Passw0rd";

test("one BMC that floods us spoils the verdict of no other, and memory stays", async (t) => {
  const [flooding = "", ...addresses] = await freeAddresses(201);
  const farm = await startFarmProcess({
    all: { delayMs: 20 },
    bmcs: addresses.map((address, at) => ({ address, power: at % 2 === 0 })),
  });
  t.after(farm.stop);
  const flooder = spawn(process.execPath, [FLOODER, flooding, "50000", "6"], { stdio: "pipe" });
  t.after(() => flooder.kill());
  await once(flooder.stdout, "data");
  let sent = "";
  flooder.stdout.setEncoding("utf8").on("data", (text: string) => {
    sent += text;
  });
  const questions = [flooding, ...addresses].map((address, at) => ({
    ...{ at, address, user: "admin", password: () => password },
  }));
  const before = process.memoryUsage.rss();
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 50);
  t.after(() => clearInterval(watch));
  const wrong: string[] = [];
  const schedule = { deadline: 10_000, startsPerSecond: 50 };
  for await (const { targets, reading } of askAll(questions, { schedule })) {
    const [{ at }] = targets;
    const expected = at === 0 ? null : at % 2 === 1 ? "on" : "off";
    if (reading.power !== expected) wrong.push(`${at}: ${reading.verdict}, ${reading.detail}`);
    if (at === 0) t.diagnostic(`the flooding BMC: ${reading.verdict}, ${reading.detail}`);
  }
  assert.deepEqual(wrong, []);
  t.diagnostic(`${sent.trim()} datagrams sent, ${((most - before) / 2 ** 20).toFixed(0)} MiB more`);
  assert.ok(most - before < 64 * 2 ** 20, `${(most - before) / 2 ** 20} MiB more`);
});
