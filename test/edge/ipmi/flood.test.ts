import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { openMux } from "../../../src/edge/ipmi/mux.ts";
import { nativeProbe, SYSTEM_CHANCE, SYSTEM_CLOCK } from "../../../src/edge/ipmi/native.ts";
import { askAll } from "../../../src/edge/ipmi/scheduler.ts";
import type { PowerQuestion } from "../../../src/model/power.ts";
import { freeAddresses, whyNot623 } from "../../lab/bmc/addresses.ts";
import { startFarmProcess } from "../../lab/bmc/process.ts";

const FLOODER = fileURLToPath(new URL("flooder.js", import.meta.url));
const password = "s3cret-Passw0rd";

test("one BMC that floods us spoils the verdict of no other, and memory stays", async (t) => {
  const why = process.env.N2I_FAST === "1" ? "the fast part has no fleets" : await whyNot623();
  if (why !== null) return t.skip(why);
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
  const mux = openMux(SYSTEM_CHANCE);
  t.after(() => mux.close());
  const questions = [flooding, ...addresses].map((address, at) => ({
    ...{ bm_node_ids: [at], address, user: "admin", password: () => password },
  }));
  const before = process.memoryUsage.rss();
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 50);
  t.after(() => clearInterval(watch));
  const wrong: string[] = [];
  const options = { clock: SYSTEM_CLOCK, signal: new AbortController().signal };
  for await (const reading of askAll(streamed(questions), nativeProbe(mux), {
    ...options,
    schedule: { deadline: 10_000, startsPerSecond: 50 },
  })) {
    const [at = 0] = reading.bm_node_ids;
    const expected = at === 0 ? null : at % 2 === 1 ? "on" : "off";
    if (reading.power !== expected) wrong.push(`${at}: ${reading.verdict}, ${reading.detail}`);
    if (at === 0) t.diagnostic(`the flooding BMC: ${reading.verdict}, ${reading.detail}`);
  }
  assert.deepEqual(wrong, []);
  t.diagnostic(`${sent.trim()} datagrams sent, ${((most - before) / 2 ** 20).toFixed(0)} MiB more`);
  assert.ok(most - before < 64 * 2 ** 20, `${(most - before) / 2 ** 20} MiB more`);
});

async function* streamed(questions: readonly PowerQuestion[]): AsyncGenerator<PowerQuestion, void> {
  yield* questions;
}
