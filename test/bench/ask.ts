import { createInterface } from "node:readline";
import { openMux } from "../../src/edge/ipmi/mux.ts";
import { nativeProbe, SYSTEM_CHANCE, SYSTEM_CLOCK } from "../../src/edge/ipmi/native.ts";
import { askAll } from "../../src/edge/ipmi/scheduler.ts";
import type { PowerQuestion } from "../../src/model/power.ts";

/**
 * `node ask.js RATE`, addresses on stdin: asks each BMC and prints what it took, as one line of JSON: seconds, CPU seconds of the whole process, peak bytes, verdicts.
 */
async function* questions(): AsyncGenerator<PowerQuestion> {
  let id = 0;
  const addresses: string[] = [];
  for await (const address of createInterface({ input: process.stdin })) addresses.push(address);
  for (const address of addresses) {
    id += 1;
    yield { bm_node_ids: [id], address, user: "admin", password: () => "bench-secret" };
  }
}

const mux = openMux(SYSTEM_CHANCE);
const began = performance.now();
const verdicts: Record<string, number> = {};
const readings = askAll(questions(), nativeProbe(mux), {
  clock: SYSTEM_CLOCK,
  signal: new AbortController().signal,
  schedule: { startsPerSecond: Number(process.argv[2] ?? 400) },
});
for await (const { verdict } of readings) verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
await mux.close();
const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
process.stdout.write(
  `${JSON.stringify({
    seconds: (performance.now() - began) / 1000,
    cpu: (userCPUTime + systemCPUTime) / 1e6,
    bytes: maxRSS * 1024,
    verdicts,
  })}\n`,
);
