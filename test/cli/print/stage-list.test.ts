import assert from "node:assert/strict";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { stageList } from "../../../src/cli/print/stages.ts";
import { STAGES } from "../../../src/run/stages.ts";

test("the list of stages tells what is behind, what is under way and what is to come", () => {
  const plain = { width: 80, colour: false };
  assert.deepEqual(stageList(STAGES, 4, plain), [
    "✔ extract power plan check  ▶ apply  · verify handover takeover final finish",
  ]);
  assert.deepEqual(stageList(["extract", "power"], 0, plain), ["▶ extract  · power"]);
  assert.deepEqual(stageList(["extract", "power"], 1, plain), ["✔ extract  ▶ power"]);
});

test("the list of stages fits the terminal, whatever it is drawn with", () => {
  const bare = stageList(STAGES, 4, { width: 40, colour: false });
  assert.ok(bare.length === 2 && bare.every((line) => line.length < 40), bare.join("|"));
  const drawn = stageList(STAGES, 4, { width: 40, colour: true });
  assert.deepEqual(
    drawn.map((line) => stripVTControlCharacters(line)),
    bare,
  );
  assert.ok(drawn.join().includes("\x1b[2m· verify"));
});
