import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Case } from "../../src/demo/case.ts";
import { type WrittenCase, writeCase } from "../../src/demo/write-case.ts";
import type { BmcOptions } from "../../src/edge/ipmi/testing/index.ts";
import type { PowerReading } from "../../src/model/power.ts";
import { leavingNova, MAIN, run as runTool } from "../hostile/cli.ts";
import { withBmcs } from "../lab/bmc/with-farm.ts";

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

let [under, before] = [0, ""];

/** Runs the tool to its end in this folder, in this process. */
export async function run(
  cwd: string,
  words: readonly string[],
  options: { readonly bare?: boolean } = {},
): Promise<Ran> {
  if (under === 0) before = process.cwd();
  under += 1;
  process.chdir(cwd);
  try {
    const { status, ...told } = await runTool(words, options);
    return { code: status, ...told };
  } finally {
    under -= 1;
    if (under === 0) process.chdir(before);
  }
}

/** Starts it in a process of its own, that can be stopped. */
export function startTool(
  cwd: string,
  words: readonly string[],
  onError?: (text: string) => void,
): Promise<Ran> & { stop: () => void } {
  const child = spawn(process.execPath, [MAIN, ...leavingNova(words)], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
    onError?.(err);
  });
  const ended = new Promise<Ran>((resolve) => {
    child.on("close", (code) => resolve({ code: code ?? -1, out, err }));
  });
  return Object.assign(ended, { stop: () => void child.kill("SIGINT") });
}

export const user = (id: number) => [{ name: "admin", password: `bmc-secret-${id}` }];

/** A deployment whose machines have these BMCs, extracted into `run`. */
export async function deployed(
  t: TestContext,
  bmcs: readonly Partial<BmcOptions>[],
  more: Partial<Case> | ((addresses: readonly string[]) => Partial<Case>) = {},
): Promise<{
  readonly folder: string;
  readonly written: WrittenCase;
  readonly addresses: readonly string[];
  readonly farm: NonNullable<Awaited<ReturnType<typeof withBmcs>>>;
}> {
  const farm = await withBmcs(t, bmcs);
  const folder = mkdtempSync(join(tmpdir(), "n2i-power-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const nodes = farm.addresses.map((pm_address, at) => ({ id: at + 1, pm_address }));
  const written = await writeCase(
    {
      ...{ shows: "power", nova_bm: { nodes }, power: true },
      ...(typeof more === "function" ? more(farm.addresses) : more),
    },
    folder,
  );
  const { code, err } = await run(folder, ["extract", "--run", "run", ...written.extract]);
  assert.equal(code, 0, err);
  return { folder, written, addresses: farm.addresses, farm };
}

export function readings(folder: string): readonly PowerReading[] {
  const lines = readFileSync(join(folder, "run", "power.jsonl"), "utf8")
    .trim()
    .split("\n");
  return lines.slice(1, -1).map((line) => JSON.parse(line) as PowerReading);
}
