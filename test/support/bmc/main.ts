import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { reply } from "./control.ts";
import { type FarmConfig, startFarm } from "./farm.ts";

/**
 * `node main.js CONFIG.json`: a farm of BMCs in a process of its own. Writes the line `ready`, then
 * answers each line of JSON on stdin with one on stdout. Ends when stdin does, so that it dies with
 * whoever started it. With `-` the configuration is the first line on stdin, and no file is left.
 */
async function main(path: string): Promise<void> {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  const text = path === "-" ? (await lines.next()).value : readFileSync(path, "utf8");
  // Whoever starts it wrote it; options that do not exist are refused by the farm.
  const farm = await startFarm(JSON.parse(text ?? "null") as FarmConfig);
  process.stdout.write("ready\n");
  for (let line = await lines.next(); line.done !== true; line = await lines.next())
    process.stdout.write(`${reply(farm, line.value)}\n`);
  farm.close();
}

main(process.argv[2] ?? "").catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
