import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Entry, IRONIC } from "../../../src/model/journal.ts";
import { measuredOf } from "../../../src/window/report/history.ts";
import { privateFolder } from "../../hostile/deployment.ts";

const MINUTE = 60_000;

function at(milliseconds: number): string {
  return new Date(Date.UTC(2026, 0, 2) + milliseconds).toISOString();
}

type Lines = readonly (object | string)[];

function runOf(t: TestContext, log: Lines, window?: Lines): string {
  const folder = privateFolder(t);
  for (const [name, lines] of Object.entries({ log, ...(window && { window }) })) {
    const text = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
    writeFileSync(join(folder, `${name}.jsonl`), text.join("\n"));
  }
  return folder;
}

function begin(words: string, milliseconds: number, pid = 1): object {
  const command = `nova2ironic ${words}`;
  return { v: 1, ts: at(milliseconds), pid, type: "begin", command, by: "me" };
}

function end(status: number, milliseconds: number, pid = 1): object {
  return { v: 1, ts: at(milliseconds), pid, type: "end", status, name: "done" };
}

/** Each command with its seconds and its result. */
async function resultsOf(run: string): Promise<readonly string[]> {
  const { ran } = await measuredOf(run, []);
  return ran.map(({ command, seconds, result }) => `${command} ${seconds} ${result}`);
}

test("a command takes from its beginning to its end, and one that was killed has none", async (t) => {
  const run = runOf(t, [
    begin("extract --run m1", 0),
    { v: 1, ts: at(1), type: "said", text: "Saved" },
    end(0, 2_500),
    begin("--quiet plan --run m1", 10_000),
    end(4, 11_000),
    "",
    begin("apply --run m1", 20_000),
    '{"v":1,"ts":"20',
  ]);
  const { ran } = await measuredOf(run, []);
  const found = ran.map(({ command, seconds, status }) => `${command} ${seconds} ${status}`);
  assert.deepEqual(found, ["extract 2.5 0", "plan 1 4", "apply null null"]);
});

test("commands beside each other, and after one that was killed, have their own ends", async (t) => {
  const run = runOf(t, [
    begin("apply --run m1", 0),
    begin("status --run m1", 1_000, 2),
    end(0, 2_000, 2),
    end(0, 9_000),
    begin("power --run m1", 10_000, 3),
    begin("verify --run m1", 20_000, 4),
    end(0, 21_000, 4),
    // The process number of the one that was killed comes again.
    begin("verify --run m1 --takeover", 30_000, 3),
    end(0, 34_000, 3),
    // Whoever asks has not ended.
    begin("report --run m1", 40_000, process.pid),
  ]);
  assert.deepEqual(await resultsOf(run), [
    ...["apply 9 done", "status 1 done", "power null no end recorded", "verify 1 done"],
    "verify --takeover 4 done",
  ]);
});

test("a command that an option makes other work is not taken for the work of its name", async (t) => {
  const log = [
    ...[begin("finish --run m1 --plan", 0), end(0, 1_000)],
    ...[begin("finish --undo --run m1", 2_000), end(0, 3_000)],
    ...[begin("finish --run --plans", 4_000), end(0, 5_000)],
  ];
  const run = runOf(t, log, [
    // The log has this one.
    { do: "begin", at: at(2_100), by: "me", stage: "finish" },
    { do: "end", at: at(2_900), by: "me", stage: "finish", result: "done" },
    { do: "begin", at: at(6_000), by: "me", stage: "final" },
    { do: "end", at: at(7_000), by: "me", stage: "final", result: "done" },
  ]);
  const commands = (await measuredOf(run, [])).ran.map(({ command }) => command);
  assert.deepEqual(commands, ["finish --plan", "finish --undo", "finish", "verify --final"]);
});

test("stages that one command went through have their times from the record of the window", async (t) => {
  const log = [
    ...[begin("run --run m1", 0), end(0, 60_000)],
    ...[begin("apply --run m1", 100_000), end(0, 109_000)],
  ];
  const lines = [
    { do: "open", at: at(1_000), by: "me" },
    { do: "begin", at: at(2_000), by: "me", stage: "apply" },
    { do: "end", at: at(7_000), by: "me", stage: "apply", result: "done" },
    { do: "begin", at: at(8_000), by: "me", stage: "finish" },
    { do: "end", at: at(9_000), by: "me", stage: "finish", result: "N2I-E308" },
    // The log has this one.
    { do: "begin", at: at(101_000), by: "me", stage: "apply" },
    { do: "end", at: at(108_000), by: "me", stage: "apply", result: "done" },
    { do: "close", at: at(200_000), by: "me" },
  ];
  assert.deepEqual(await resultsOf(runOf(t, log, lines)), [
    ...["run 60 done", "window opens null ", "apply 5 done", "finish null N2I-E308"],
    ...["apply 9 done", "window closes null "],
  ]);
});

test("a run without a log was never measured", async () => {
  assert.deepEqual(await measuredOf("/nowhere", []), { ran: [], loaded: null, handed: null });
});

test("rows that were loaded count over the time their batches took, however these overlap", async () => {
  const about = { part: IRONIC, plan: "p", from: 0, to: 1 };
  const begun = (time: number, by = "me"): Entry => ({ ...about, do: "begin", at: at(time), by });
  const done = (time: number, created: number): Entry => ({
    ...{ ...about, do: "done", at: at(time), created, found: [] },
  });
  const entries = [
    ...[begun(0), begun(500), done(1_000, 300), done(2_000, 300)],
    // The next night.
    ...[begun(600 * MINUTE), done(600 * MINUTE + 500, 300)],
    // One that died, and what came after.
    ...[begun(601 * MINUTE), begun(900 * MINUTE, "pid 2"), done(900 * MINUTE + 1_000, 300)],
    ...[begun(901 * MINUTE, "pid 2"), done(901 * MINUTE + 500, 300)],
  ];
  assert.deepEqual((await measuredOf("/nowhere", entries)).loaded, { count: 1500, seconds: 4 });
});

test("rows of Nova count as rows that apply wrote", async () => {
  const entries = [IRONIC, "nova-hosts"].flatMap((part, place): readonly Entry[] => {
    const about = { part, plan: "p", from: 0, to: 5, at: at(place * 1_000) };
    return [
      { ...about, do: "begin", by: "me" },
      { ...about, do: "done", at: at(place * 1_000 + 500), created: 5, found: [] },
    ];
  });
  assert.deepEqual((await measuredOf("/nowhere", entries)).loaded, { count: 10, seconds: 1 });
});

test("machines that were handed over count over the sittings, not over the time between", async () => {
  const handed = (id: string, from: number, to: number): readonly Entry[] => [
    { part: "hand-over", id, at: at(from), do: "start", by: "me" },
    { part: "hand-over", id, at: at(to), do: "end" },
  ];
  const entries = [...handed("a", 0, 2 * MINUTE), ...handed("b", 100 * MINUTE, 104 * MINUTE)];
  assert.deepEqual((await measuredOf("/nowhere", entries)).handed, { count: 2, seconds: 360 });
});
