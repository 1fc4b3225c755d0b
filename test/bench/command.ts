import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { program } from "../../src/run/files/package-root.ts";
import type { Server } from "../lab/server.ts";
import { secondsOf, secondsOfServer } from "./processor.ts";

export interface Cost {
  /** Wall clock, start of the process to its end. */
  readonly seconds: number;
  /** User and system, of the process alone; null where it was not asked. */
  readonly cpu: number | null;
  /** The same of the server that it worked with; null where there was none. */
  readonly servers: number | null;
  /** Peak, MiB; null where it was not asked. */
  readonly rss: number | null;
  /** Processes that wanted a processor meanwhile, as the kernel averages them over a minute. */
  readonly load: number;
}

interface Measured {
  readonly flags?: readonly string[];
  readonly server?: Server | null;
  /** What it finds in its environment besides ours. */
  readonly env?: { readonly [name: string]: string };
  readonly also?: readonly number[];
}

const MAIN = program();
const USAGE = new URL("./usage.js", import.meta.url).href;

/**
 * Runs one command of the tool in a process of its own, and measures the process.
 * @returns its costs, and in `verify` the costs until the verification began
 * @throws Error with its output if the exit status is not 0
 */
export async function command(
  folder: string,
  words: readonly string[],
  { flags = [], server = null, env = {}, also = [] }: Measured = {},
) {
  const usage = join(folder, "usage.json");
  const servers = (): number | null => server && secondsOfServer(server);
  const [began, before] = [performance.now(), servers()];
  const since = (): Pick<Cost, "seconds" | "servers"> => ({
    seconds: (performance.now() - began) / 1000,
    servers: before === null ? null : (servers() ?? 0) - before,
  });
  const child = spawn(process.execPath, [...flags, "--import", USAGE, MAIN, ...words, "--json"], {
    cwd: folder,
    // A list of authorities that a host gives to every Node takes 50 ms of each start to parse, and none is asked here.
    env: { ...process.env, NODE_EXTRA_CA_CERTS: undefined, ...env, N2I_BENCH_USAGE: usage },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, errors] = [child.stdout, child.stderr].map(endOf) as [() => string, () => string];
  const begun: { verify?: Pick<Cost, "seconds" | "servers" | "cpu"> } = {};
  createInterface({ input: child.stderr }).on("line", (line) => {
    // `--json` promises these fields.
    if (line.includes('"stage_start"') && JSON.parse(line).stage === "verify")
      begun.verify = { ...since(), cpu: secondsOf(child.pid ?? 0) };
  });
  const [status] = await once(child, "close");
  const spent = since();
  // check has something to say of every fleet.
  if (![0, ...also].includes(status) && words[0] !== "check")
    throw new Error(`${words.join(" ")}: exit ${status}\n${out()}\n${errors()}`);
  // Written by usage.ts.
  const used = JSON.parse(readFileSync(usage, "utf8")) as {
    readonly [of in "maxRSS" | "userCPUTime" | "systemCPUTime"]: number;
  };
  rmSync(usage);
  return {
    ...{ ...spent, ...begun, load: loadavg()[0] ?? 0, rss: used.maxRSS / 1024 },
    cpu: (used.userCPUTime + used.systemCPUTime) / 1e6,
  };
}

const KEPT = 8000;

function endOf(stream: NodeJS.ReadableStream): () => string {
  let kept = "";
  stream.setEncoding("utf8").on("data", (text: string) => {
    kept = (kept + text).slice(-KEPT);
  });
  return () => kept;
}
