import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { reply } from "./control.ts";
import { type FarmConfig, startFarm } from "./farm.ts";

/**
 * `node main.js CONFIG.json`: a farm of BMCs in a process of its own. Writes the line `ready`, then
 * answers each line of JSON on stdin with one on stdout. Ends when stdin does, so that it dies with
 * whoever started it.
 */
async function main(path: string): Promise<void> {
  // Whoever starts it wrote the file.
  const config = JSON.parse(readFileSync(path, "utf8")) as FarmConfig;
  const lines = createInterface({ input: process.stdin });
  const farm = await startFarm(config);
  lines.on("line", (line) => process.stdout.write(`${reply(farm, line)}\n`));
  lines.on("close", () => process.exit(0));
  process.stdout.write("ready\n");
}

main(process.argv[2] ?? "").catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
