import assert from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { createProgress, duration, measure, sentence } from "../../../src/cli/print/progress.ts";
import { stageList } from "../../../src/cli/print/stages.ts";
import { STAGES } from "../../../src/run/stages.ts";
import { collector } from "../../window/report/collect.ts";

interface Bench {
  readonly progress: ReturnType<typeof createProgress>;
  readonly pass: (milliseconds: number) => void;
  readonly text: () => string;
}

interface Setting {
  readonly columns?: number;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly total?: number;
  readonly term?: string;
}

function bench({ columns, json = false, quiet = false, total, term }: Setting): Bench {
  let now = Date.UTC(2026, 10, 21, 1, 0, 0);
  const { out, text } = collector(columns);
  const progress = createProgress({
    stream: out,
    stage: "extract",
    total,
    interval: 30_000,
    json,
    quiet,
    clock: () => now,
    env: { TERM: term ?? "xterm" },
  });
  const pass = (milliseconds: number): void => {
    now += milliseconds;
  };
  return { progress, pass, text };
}

test("where no line can be drawn over, each 5 % or interval is one dated line without escapes", () => {
  const { progress, pass, text } = bench({ total: 1000 });
  for (let at = 1; at <= 100; at++) {
    pass(500);
    progress.at(at);
  }
  pass(31_000);
  progress.at(101, "try 2 of 3\x1b[31m");
  progress.done("101 machines");
  assert.equal(
    text(),
    `2026-11-21T01:00:00Z extract: started
2026-11-21T01:00:25Z extract: 50 of 1000 (5 %), 2/s, ETA 7 min 55 s
2026-11-21T01:00:50Z extract: 100 of 1000 (10 %), 2/s, ETA 7 min 30 s
2026-11-21T01:01:21Z extract: 101 of 1000 (10 %), 1.2/s, ETA 12 min 01 s; try 2 of 3\\x1b[31m
2026-11-21T01:01:21Z extract: 101 machines (1 min 21 s)
`,
  );
});

test("on a terminal one line is drawn over, at most ten times a second, and never wraps", () => {
  const { progress, pass, text } = bench({ columns: 30, total: 100_000 });
  for (let at = 1; at <= 1000; at++) {
    pass(1);
    progress.at(10 * at);
  }
  progress.done("all");
  const drawn = text().split("\r\x1b[2K");
  assert.ok(drawn.length > 8 && drawn.length < 14, `${drawn.length} drawings`);
  assert.ok(drawn.every((line) => line.length < 30));
  assert.equal(drawn.at(-1), "extract: all (1.0 s)\n");
  assert.ok(drawn.slice(0, -1).every((line) => !line.includes("\n")));
});

test("TERM=dumb, a pipe and a terminal without columns get no control codes", () => {
  for (const setting of [{ columns: 80, term: "dumb" }, {}, { columns: 0 }]) {
    const { progress, text } = bench(setting);
    progress.at(1);
    progress.done("all");
    assert.ok(!text().includes("\x1b") && !text().includes("\r"));
    assert.match(text(), /Z extract: all \(0\.0 s\)\n$/);
    progress.done("1 of 2", true);
    assert.match(text(), /Z extract: 1 of 2, interrupted after 0\.0 s\n$/);
  }
});

test("with --json every line is an event, and --quiet says nothing", () => {
  const { progress, pass, text } = bench({ columns: 80, json: true, total: 4 });
  pass(2000);
  progress.at(2);
  progress.done("4 machines");
  const events = text()
    .trimEnd()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
  const at = { v: 1, ts: "2026-11-21T01:00:02Z", stage: "extract" };
  assert.deepEqual(events, [
    { v: 1, ts: "2026-11-21T01:00:00Z", type: "stage_start", stage: "extract", total: 4 },
    { ...at, type: "progress", done: 2, total: 4, percent: 50, rate: 1, eta: 2 },
    {
      ...at,
      type: "stage_complete",
      result: "complete",
      done: 2,
      elapsed_ms: 2000,
      summary: "4 machines",
    },
  ]);

  const silent = bench({ quiet: true });
  silent.progress.at(1);
  silent.progress.done("x");
  assert.equal(silent.text(), "");
});

test("the end is foretold only after 1 % and two seconds", () => {
  assert.equal(measure(9, 1000, 60_000).eta, null);
  assert.equal(measure(500, 1000, 1999).eta, null);
  assert.equal(measure(500, 1000, 2000).eta, 2);
  assert.equal(measure(10, 1000, 10_000).eta, 990);
  assert.equal(measure(10, undefined, 10_000).eta, null);
  assert.equal(measure(0, 0, 10_000).percent, null);
});

test("while nothing is done no end is foretold that is nearer than the last one is past", () => {
  assert.equal(measure(270, 280, 3000).eta, 1);
  const stuck = measure(270, 280, 13_000, 0, { idle: 10_000 });
  assert.deepEqual([stuck.eta, stuck.idle], [10, 10]);
  assert.match(sentence(stuck), /ETA 10 s; 10 outstanding, none done for 10 s$/);
  assert.equal(
    sentence(measure(5, undefined, 9000, 0, { idle: 4000 })),
    "5, 0.6/s; none done for 4 s",
  );
  assert.equal(measure(280, 280, 13_000, 0, { idle: 10_000 }).idle, undefined);
  // Machines that come in groups: the stage measures their rate.
  const slow = measure(40, 88, 300_000, 0, { pace: 0.2 });
  assert.deepEqual([slow.rate, slow.eta], [0.2, 240]);
  assert.equal(sentence(slow, true), "40 of 88 (45 %), 12 a minute, ETA 4 min 00 s");
  assert.equal(sentence(measure(8, 88, 300_000, 0, { pace: null }), true), "8 of 88 (9 %)");
});

test("durations are written for people", () => {
  assert.deepEqual([40, 9949, 10_000, 59_499, 61_000, 3_599_999, 7_620_000].map(duration), [
    "0.0 s",
    "9.9 s",
    "10 s",
    "59 s",
    "1 min 01 s",
    "1 h 00 min",
    "2 h 07 min",
  ]);
});

test("what an earlier run had done is counted, and says nothing of the rate or the time left", () => {
  const { progress, pass, text } = bench({});
  progress.expect(1000, 600);
  for (let at = 601; at <= 650; at++) {
    pass(500);
    progress.at(at, "630 ok, 20 busy");
  }
  assert.match(text(), /extract: 650 of 1000 \(65 %\), 2\/s, ETA 2 min 55 s; 630 ok, 20 busy\n/);
  assert.deepEqual(measure(603, 1000, 60_000, 600).eta, null);
});

test("the list of stages shows the completed, the current and the remaining stages", () => {
  const plain = { width: 80, colour: false };
  assert.deepEqual(stageList(STAGES, 4, plain), [
    "✔ extract power plan check  ▶ apply  · verify handover takeover final finish",
  ]);
  assert.deepEqual(stageList(["extract", "power"], 0, plain), ["▶ extract  · power"]);
  assert.deepEqual(stageList(["extract", "power"], 1, plain), ["✔ extract  ▶ power"]);
});

test("the list of stages fits the terminal, with and without colors", () => {
  const bare = stageList(STAGES, 4, { width: 40, colour: false });
  assert.ok(bare.length === 2 && bare.every((line) => line.length < 40), bare.join("|"));
  const drawn = stageList(STAGES, 4, { width: 40, colour: true });
  assert.deepEqual(
    drawn.map((line) => stripVTControlCharacters(line)),
    bare,
  );
  assert.ok(drawn.join().includes("\x1b[2m· verify"));
});
