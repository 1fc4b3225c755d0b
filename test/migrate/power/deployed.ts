import assert from "node:assert/strict";
import { AsyncResource } from "node:async_hooks";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Host } from "../../../src/cli/io.ts";
import type { PowerReading } from "../../../src/model/power.ts";
import type { Case } from "../../cases/case.ts";
import { type WrittenCase, writeCase } from "../../cases/write-case.ts";
import { leavingNova, run as runTool } from "../../hostile/cli.ts";
import { CLOCK, quickClock } from "../../lab/bmc/quick-clock.ts";
import { type Where, withBmcs } from "../../lab/bmc/with-farm.ts";
import type { BmcOptions } from "../../support/bmc/index.ts";
import { runHere } from "../../support/in-process.ts";

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

let [under, before] = [0, ""];

export function run(
  cwd: string,
  words: readonly string[],
  options: { readonly bare?: boolean } = {},
): Promise<Ran> {
  return within(cwd, () => runTool(words, options));
}

/**
 * Starts it in this process, as `run` does; `stop` is Ctrl-C, heard when the command can be stopped.
 *
 * @param until milliseconds after which its time stands still; for BMCs that answer without delay
 */
export function startTool(
  cwd: string,
  words: readonly string[],
  onError?: (text: string) => void,
  until?: number,
): Promise<Ran> & { stop: () => void } {
  const heard = new Map<NodeJS.Signals, (signal: NodeJS.Signals) => void>();
  let stopped = false;
  const host: Host = {
    on(signal, hear) {
      // A signal comes from outside of the command, and is heard within.
      const within = AsyncResource.bind(hear);
      heard.set(signal, within);
      if (stopped && signal === "SIGINT") setImmediate(within, signal);
    },
    off: (signal) => heard.delete(signal),
    exit: (status) => assert.fail(`the process would end with ${status}`),
  };
  const stop = (): void => {
    stopped = true;
    heard.get("SIGINT")?.("SIGINT");
  };
  const ended = within(cwd, () =>
    runHere(
      leavingNova(words),
      {},
      {
        ...{
          host,
          ...(until === undefined ? CLOCK : { clock: quickClock(until) }),
          ...(onError && { heard: onError }),
        },
      },
    ),
  );
  return Object.assign(ended, { stop });
}

async function within(cwd: string, work: () => ReturnType<typeof runHere>): Promise<Ran> {
  if (under === 0) before = process.cwd();
  under += 1;
  process.chdir(cwd);
  try {
    const { status, ...told } = await work();
    return { code: status, ...told };
  } finally {
    under -= 1;
    if (under === 0) process.chdir(before);
  }
}

export const user = (id: number) => [{ name: "admin", password: `bmc-secret-${id}` }];

/** A deployment whose machines have these BMCs, extracted into `run`. */
export async function deployed(
  t: TestContext,
  bmcs: readonly Partial<BmcOptions>[],
  more: Partial<Case> | ((addresses: readonly string[]) => Partial<Case>) = {},
  where: Where = "here",
): Promise<{
  readonly folder: string;
  readonly written: WrittenCase;
  readonly addresses: readonly string[];
  readonly farm: Awaited<ReturnType<typeof withBmcs>>;
}> {
  const farm = await withBmcs(t, bmcs, where);
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
