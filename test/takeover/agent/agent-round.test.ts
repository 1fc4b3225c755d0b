import assert from "node:assert/strict";
import { test } from "node:test";
import { MigrationError } from "../../../src/lib/error.ts";
import { processContext, surrounded } from "../../../src/run/process-context.ts";
import { patiently } from "../../../src/takeover/agent/agent-round.ts";
import { quickClock } from "../../lab/bmc/quick-clock.ts";

test("an agent that waits for a lock reports at growing intervals for which, and since when", async () => {
  const said: string[] = [];
  const ending = new AbortController();
  const report = (text: string): void => {
    if (said.push(text) === 3) ending.abort();
  };
  const busy = new MigrationError("N2I-E302", "host:A is locked by B");
  const locked = (): Promise<never> => Promise.reject(busy);
  const clock = quickClock();
  const waits = () => patiently({ signal: ending.signal, report }, locked);
  const ended = await surrounded({ ...processContext(), clock }, waits);
  assert.equal(ended, null);
  const times = said.map((line) =>
    /^Waiting since 20\S+Z \((\d+) (s|min)\): host:A is locked by B\.$/.exec(line)?.slice(1, 3),
  );
  assert.deepEqual(times.flat(), ["63", "s", "2", "min", "4", "min"], said.join("\n"));
});
