import assert from "node:assert/strict";
import { test } from "node:test";
import { loadMappings } from "../../src/stages/documents.ts";
import { checkReasons } from "../../src/stages/ironic-place.ts";
import { commands, page, yamlOf } from "../support/manual.ts";
import { box, JUNO, STEPS } from "../support/runbook.ts";

const PAGE = page("runbook");

test("each step of the runbook says who, what, what to expect, how long, what if not, and the undo", () => {
  assert.deepEqual(
    STEPS.map(({ number }) => number),
    STEPS.map((_, at) => at + 1),
  );
  assert.ok(STEPS.length >= 12);
  for (const { title, text } of [...STEPS, ...JUNO])
    assert.deepEqual(
      Object.keys(box(text)),
      ["Who", "Command", "Expect", "Minutes", "If not", "Undo"],
      title,
    );
});

test("the release of the runbook's file can hold a staged load, and Juno's boxes ask for none", async () => {
  const [, name] = /^ironic_release: '?([\w.]+)/m.exec(yamlOf("runbook")) ?? [];
  const release = (await loadMappings()).releases.find(({ doc }) => doc.release === name);
  assert.ok(release, name);
  checkReasons(release);
  assert.deepEqual(
    JUNO.map(({ number }) => number),
    [14, 15, 16, 17],
  );
  const [, section = ""] = /^## The night on Juno$(.*?)^## /ms.exec(PAGE) ?? [];
  const asked = commands(section);
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
    assert.ok(
      cells.every((cell) => cell.trim() !== ""),
      row,
    );
    for (const [, from, to] of row.matchAll(/steps? (\d+)(?: to (\d+))?/g))
      for (const number of [from, to ?? from])
        assert.ok(
          STEPS.some((step) => step.number === Number(number)),
          row,
        );
  }
});
