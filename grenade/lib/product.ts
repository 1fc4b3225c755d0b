import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Ran } from "./seen.ts";

export const PROGRAM = join(import.meta.dirname, "..", "..", "src", "cli", "main.js");
const LOOK_MS = 50;

/** Runs the product's commands as an operator does, and keeps what they said. */
export interface Product {
  /** @param title of what is kept: the command, where the run has it once */
  readonly run: (title: string, words: readonly string[], how?: How) => Promise<Ran>;
  /** All that ran, in order. */
  readonly ran: () => readonly Ran[];
}

/** What is peculiar to a command that is to meet a fault. */
export interface How {
  /** Machines in a transaction; of a plan that was begun it must not change. */
  readonly batch?: number;
  /** Where it dies or waits: `commit.before:1`, the first time it comes there. */
  readonly point?: string;
  /** Done while it waits there; without it the command is killed. */
  readonly meanwhile?: () => Promise<void>;
  /** What a command that serves says once it does: `meanwhile` is done then, and SIGTERM ends it. */
  readonly serves?: string;
}

/** @param folder for a file a command, with all it said */
export function product(
  folder: string,
  env: { readonly [name: string]: string },
  tell: (line: string) => void,
): Product {
  mkdirSync(folder, { recursive: true });
  const all: Ran[] = [];
  const run: Product["run"] = async (title, words, how = {}) => {
    const began = Date.now();
    const child = spawn(process.execPath, [PROGRAM, ...words], {
      env: { PATH: process.env.PATH, HOME: folder, LC_ALL: "C.UTF-8", ...env, ...faulty(how) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const end = (): boolean => child.kill("SIGKILL");
    process.once("exit", end);
    let [out, err, peak] = ["", "", 0];
    let meanwhile: Promise<void> | null = null;
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      err += text;
      const [said, signal] = whenToGoOn(how);
      if (meanwhile !== null || how.meanwhile === undefined || !err.includes(said)) return;
      meanwhile = how.meanwhile().finally(() => child.kill(signal));
      // Told below, once the command has ended.
      meanwhile.catch(() => {});
    });
    const looks = setInterval(() => {
      peak = Math.max(peak, peakOf(child.pid ?? 0));
    }, LOOK_MS);
    const [status, signal] = await once(child, "close");
    clearInterval(looks);
    process.off("exit", end);
    await meanwhile;
    const seconds = (Date.now() - began) / 1000;
    const ran: Ran = { title, words, status: status ?? signal, seconds, peak, out, err };
    all.push(ran);
    const number = String(all.length).padStart(2, "0");
    const text = [`nova2ironic ${words.join(" ")}`, out, err, `exit ${ran.status}`].join("\n");
    writeFileSync(join(folder, `${number}-${title.replaceAll(/\W+/g, "-")}.txt`), text);
    tell(`nova2ironic ${title}: exit ${ran.status}, ${seconds.toFixed(1)} s, ${peak} MiB`);
    return ran;
  };
  return { run, ran: () => all };
}

/** What it says when it is time for what is done meanwhile, and the signal that it is done. */
function whenToGoOn({ serves }: How): readonly [string, NodeJS.Signals] {
  return serves === undefined ? ["failpoint ", "SIGUSR2"] : [serves, "SIGTERM"];
}

function faulty({ batch, point, meanwhile }: How): { readonly [name: string]: string } {
  const action = meanwhile === undefined ? "kill" : "pause";
  return {
    ...(batch !== undefined && { NOVA2IRONIC_BATCH: String(batch) }),
    ...(point !== undefined && { NOVA2IRONIC_FAILPOINT: `${point}:${action}` }),
  };
}

/** MiB; 0 of a process that is gone. */
function peakOf(pid: number): number {
  try {
    const [, kib = "0"] =
      /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Math.round(Number(kib) / 1024);
  } catch {
    return 0;
  }
}
