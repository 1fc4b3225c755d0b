import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Control, Result } from "./control.ts";
import type { FarmConfig } from "./farm.ts";

/** 10,000 BMCs that were all asked take 100 MiB so, and 160 MiB as Node collects by itself. */
const THRIFTY = ["--max-semi-space-size=1", "--optimize-for-size"];

/**
 * Starts a farm beside this process, so that its work is not counted as ours; it ends with us.
 * @throws Error with its last words when it does not start
 */
export async function startFarmProcess(config: FarmConfig) {
  const main = fileURLToPath(new URL("main.js", import.meta.url));
  const child = spawn(process.execPath, [...THRIFTY, main, "-"], { stdio: "pipe" });
  const ended = once(child, "close");
  let words = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    words += text;
  });
  child.stdin.on("error", () => {});
  child.stdin.write(`${JSON.stringify(config)}\n`);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.value !== "ready" || child.pid === undefined) {
    await ended;
    throw new Error(`the BMCs did not start\n${words}`);
  }
  // One question at a time: answers carry no number.
  let turn: Promise<unknown> = Promise.resolve();
  const ask = async (control: Control): Promise<unknown> => {
    child.stdin.write(`${JSON.stringify(control)}\n`);
    const { value } = await lines.next();
    if (value === undefined) throw new Error(`the BMCs have ended\n${words}`);
    return settle(value);
  };
  return {
    pid: child.pid,
    /** @throws Error with what the farm says against it */
    ask: <C extends Control>(control: C): Promise<Result[C["do"]]> => {
      const answer = turn.then(() => ask(control));
      turn = answer.catch(() => {});
      // The farm answers what `Result` says for this control: see perform() there.
      return answer as Promise<never>;
    },
    stop: async () => {
      child.stdin.end();
      await ended;
    },
  };
}

export type FarmProcess = Awaited<ReturnType<typeof startFarmProcess>>;

function settle(line: string): unknown {
  const answer: unknown = JSON.parse(line);
  if (typeof answer !== "object" || answer === null) throw new Error(`not an answer: ${line}`);
  if ("error" in answer) throw new Error(String(answer.error));
  return "ok" in answer ? answer.ok : undefined;
}
