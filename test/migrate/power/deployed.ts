import assert from "node:assert/strict";
import { AsyncResource } from "node:async_hooks";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Host } from "../../../src/cli/io.ts";
import type { PowerReading } from "../../../src/model/power.ts";
import type { Case } from "../../cases/case.ts";
import { writeCase } from "../../cases/write-case.ts";
import { leavingNova, type Ran, runs } from "../../hostile/cli.ts";
import { quickClock } from "../../lab/bmc/quick-clock.ts";
import { type Where, withBmcs } from "../../lab/bmc/with-farm.ts";
import type { BmcOptions } from "../../support/bmc/index.ts";
import { runHere } from "../../support/in-process.ts";

/**
 * Starts it in this process, as `runs` does; `stop` is Ctrl-C, heard when the command can be stopped.
 *
 * @param until milliseconds after which its time stands still; for BMCs that answer without delay
 */
export function startTool(
  words: readonly string[],
  heard: (text: string) => void = () => undefined,
  until?: number,
): Promise<Ran> & { stop: () => void } {
  const hearing = new Map<NodeJS.Signals, (signal: NodeJS.Signals) => void>();
  let stopped = false;
  const host: Host = {
    on(signal, hear) {
      // A signal comes from outside of the command, and is heard within.
      const within = AsyncResource.bind(hear);
      hearing.set(signal, within);
      if (stopped && signal === "SIGINT") setImmediate(within, signal);
    },
    off: (signal) => hearing.delete(signal),
    exit: (status) => assert.fail(`the process would end with ${status}`),
  };
  const stop = (): void => {
    stopped = true;
    hearing.get("SIGINT")?.("SIGINT");
  };
  const still = until !== undefined && { clock: quickClock(until) };
  return Object.assign(runHere(leavingNova(words), {}, { host, heard, ...still }), { stop });
}

export const user = (id: number) => [{ name: "admin", password: `bmc-secret-${id}` }];

/** A deployment whose machines have these BMCs, extracted into `run`. */
export async function deployed(
  t: TestContext,
  bmcs: readonly Partial<BmcOptions>[],
  more: (addresses: readonly string[]) => Partial<Case> = () => ({}),
  where: Where = "here",
) {
  const farm = await withBmcs(t, bmcs, where);
  const folder = mkdtempSync(join(tmpdir(), "n2i-power-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const nodes = farm.addresses.map((pm_address, at) => ({ id: at + 1, pm_address }));
  const given = {
    shows: "power",
    nova_bm: { nodes },
    power: true,
    ...more(farm.addresses),
  } as const;
  const written = await writeCase(given, folder);
  const at = ["--run", join(folder, "run")];
  const extract = () => runs(0, ["extract", ...at, ...written.extract]);
  await extract();
  return {
    ...{ at, folder, written, addresses: farm.addresses, farm, extract },
    power: (status: number, ...words: readonly string[]) =>
      runs(status, ["power", ...at, ...words]),
    plan: (status: number, ...words: readonly string[]) =>
      runs(status, ["plan", ...at, ...written.ironic, "-q", ...words]),
    readings() {
      const lines = readFileSync(join(folder, "run", "power.jsonl"), "utf8")
        .trim()
        .split("\n");
      return lines.slice(1, -1).map((line) => JSON.parse(line) as PowerReading);
    },
  };
}
