import { createInterface } from "node:readline";
import { askAll, type BmcTarget } from "../../src/lib/ipmi/index.ts";

/**
 * `node ask.js RATE`, addresses on stdin: asks each BMC and prints what it took, as one line of JSON: seconds, CPU seconds of the whole process, peak bytes, verdicts.
 */
async function* questions(): AsyncGenerator<BmcTarget> {
  const addresses: string[] = [];
  for await (const address of createInterface({ input: process.stdin })) addresses.push(address);
  for (const address of addresses) yield { address, user: "admin", password: () => "bench-secret" };
}

const began = performance.now();
const verdicts: Record<string, number> = {};
const schedule = { startsPerSecond: Number(process.argv[2] ?? 400) };
for await (const { reading } of askAll(questions(), { schedule })) {
  const { verdict } = reading;
  verdicts[verdict] = (verdicts[verdict] ?? 0) + 1;
}
const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
process.stdout.write(
  `${JSON.stringify({
    seconds: (performance.now() - began) / 1000,
    cpu: (userCPUTime + systemCPUTime) / 1e6,
    bytes: maxRSS * 1024,
    verdicts,
  })}\n`,
);
