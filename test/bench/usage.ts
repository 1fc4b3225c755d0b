import { writeFileSync } from "node:fs";

// Loaded into a measured process before the program itself: at its end it writes what it used.
const path = process.env.N2I_BENCH_USAGE;
if (path !== undefined) {
  process.once("exit", () => {
    const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
    writeFileSync(path, JSON.stringify({ maxRSS, userCPUTime, systemCPUTime }));
  });
}
