import assert from "node:assert/strict";
import { test } from "node:test";
import { checkReasons } from "../../src/migrate/apply/parts.ts";
import { loadMappings } from "../../src/migrate/open/documents.ts";
import { WINDOW_PACE } from "../../src/model/handover.ts";
import { nightOf } from "../../src/window/report/rules/window.ts";
import { commands, page, yamlOf } from "../support/manual.ts";
import { box, JUNO, nightRows, STEPS } from "../support/runbook.ts";

const PAGE = page("runbook");

test("each step of the runbook says who, what, what to expect, how long, what if not, and the undo", () => {
  for (const [at, { number }] of STEPS.entries()) assert.equal(number, at + 1);
  assert.ok(STEPS.length >= 12);
  const rows = ["Who", "Command", "Expect", "Minutes", "If not", "Undo"];
  for (const { title, text } of [...STEPS, ...JUNO])
    assert.deepEqual(Object.keys(box(text)), rows, title);
});

test("the release of the runbook's file can hold a staged load, and Juno's boxes ask for none", async () => {
  const [, name] = /^ironic_release: '?([\w.]+)/m.exec(yamlOf("runbook")) ?? [];
  const release = (await loadMappings()).releases.find(({ doc }) => doc.release === name);
  assert.ok(release, name);
  checkReasons(release);
  const numbers = JUNO.map(({ number }) => number);
  assert.deepEqual(numbers, [14, 15, 16, 17]);
  const asked = commands(page("runbook-juno"));
  assert.ok(asked.some(([command]) => command === "apply"));
  for (const words of asked)
    assert.ok(words[0] !== "handover" && !words.includes("--staged"), words.join(" "));
});

test("the runbook has each of the twelve steps of the specification, with command, observation and undo", () => {
  const [, table = ""] = PAGE.split("## The steps of the upgrade's specification");
  const rows = table.split("\n").filter((line) => /^\| [a-z]/.test(line));
  const titles = rows.slice(1).map((line) => line.split("|")[1]?.trim());
  assert.equal(titles.length, 12, titles.join("; "));
  for (const row of rows.slice(1)) {
    const cells = row.split("|").slice(1, -1);
    assert.equal(cells.length, 5, row);
    const isFull = cells.every((cell) => cell.trim() !== "");
    assert.ok(isFull, row);
    for (const [, from, to] of row.matchAll(/steps? (\d+)(?: to (\d+))?/g))
      for (const number of [from, to ?? from]) assert.ok(STEPS[Number(number) - 1], row);
  }
});

test("the pages for the night have the minutes of the report's timeline, and the runbook's boxes too", () => {
  for (const [name, staged] of [
    ["night", true],
    ["runbook-juno", false],
  ] as const) {
    const rows = nightRows(name);
    const night = nightOf({
      ...{ machines: 300, rows: 900, stopped: ["c1"], perMinute: null, boots: !staged, staged },
      ...{ takeOvers: 300, pace: WINDOW_PACE, measured: { ran: [], loaded: null, handed: null } },
    });
    for (const { step, cells } of rows) {
      const of = night.filter((one) => one.name.startsWith(`${step}. `));
      const text = [...(staged ? [] : JUNO), ...STEPS].find(({ number }) => number === step)?.text;
      assert.ok(text, `${name} ${step}`);
      const [who = "", command = "", expected = "", ...times] = cells;
      assert.match(who, /^[OA](, [OA])?$/);
      for (const [, shown = ""] of `${command} ${expected}`.matchAll(/`([^`]*)`/g))
        assert.ok(text.includes(shown), `${name} ${step}: ${shown}`);
      // A step that has nothing to do here moves no clock.
      if (of.length === 0) continue;
      const sum = of.reduce((all, { seconds }) => all + seconds, 0);
      const seconds = [sum, of.at(-1)?.ends ?? 0, of.at(-1)?.back ?? 0];
      const minutes = seconds.map((one) => Math.ceil(one / 60));
      assert.deepEqual(times.map(Number), minutes, `${name} ${step}`);
      assert.ok((box(text).Minutes ?? "").startsWith(`${times[0]} (`) || !staged, text);
      const [, clock, back] = /\(clock (\d+), back (\d+)\)$/.exec(box(text).Minutes ?? "") ?? [];
      if (staged || [14, 15, 16, 17].includes(step))
        assert.deepEqual([clock, back], times.slice(1));
    }
    const numbers = rows.map(({ step }) => step);
    assert.deepEqual(numbers, [9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]);
    assert.ok((page(name).split(/^## /m)[0] ?? "").split("\n").length <= 80);
  }
});

test("the way back of the page for the night adds up to that of its last step", () => {
  const [, table = ""] = page("night").split("**The way back.**");
  const minutes = [...table.matchAll(/^\| \d+ \|.*\| (\d+) \|$/gm)].map(([, sum]) => Number(sum));
  const last = nightRows("night").at(-1);
  const sum = minutes.reduce((sum, one) => sum + one, 0);
  assert.equal(sum, Number(last?.cells.at(-1)));
});
