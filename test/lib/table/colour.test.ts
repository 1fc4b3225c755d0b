import assert from "node:assert/strict";
import { test } from "node:test";
import { paintCell, paintLine } from "../../../src/lib/table/colour.ts";
import { type FormatOptions, isColoured } from "../../../src/lib/table/format.ts";
import { renderRows } from "../../../src/lib/table/table.ts";

const RED = "\x1b[31mblocked\x1b[39m";
const VIEW = { columns: ["UUID", "Verdict", "Reason"], rows: [["u-1", "blocked", "blocked"]] };

async function shown(options: FormatOptions, colour: boolean): Promise<string> {
  const screen = { colour, isTTY: true, columns: 80, env: {} };
  let text = "";
  for await (const chunk of renderRows(VIEW, options, screen)) text += chunk;
  return text;
}

test("a verdict is in colour in its column alone, and columns stay aligned", async () => {
  const plain = await shown({ format: "table" }, false);
  assert.equal(await shown({ format: "table" }, true), plain.replace("blocked", RED));
  assert.equal(paintCell("Verdict", "blocked   "), `${RED}   `);
});

test("what programs read is never in colour", async () => {
  for (const format of ["json", "yaml", "csv", "value"] as const)
    assert.equal((await shown({ format }, true)).includes("\x1b"), false, format);
});

test("in a line the word behind its sign, count or code is the verdict", () => {
  for (const line of [
    "  ! a0000000-0000-4000-8000-000000000001  blocked    N2I-D100 blocked",
    "  ! bm_nodes.id=7                         blocked    N2I-D100 blocked",
    "  !    142 blocked: a finding says so, blocked",
    "      31  blocked  N2I-D100",
    "| Result: blocked |",
  ])
    assert.equal(paintLine(line), line.replace("blocked", RED));
  const [codes, text] = ["  N2I-D100 blocks  31  in flight", "the machine is blocked"];
  assert.equal(paintLine(codes), codes.replace("blocks", "\x1b[31mblocks\x1b[39m"));
  assert.equal(paintLine(text), text);
});

test("a terminal has colour unless NO_COLOR says no; what is no terminal has it by FORCE_COLOR", () => {
  const on = (isTTY: boolean, env: { readonly [name: string]: string }) =>
    isColoured({ isTTY, env });
  assert.deepEqual([on(true, {}), on(false, {}), on(true, { TERM: "dumb" })], [true, false, false]);
  assert.deepEqual([on(true, { NO_COLOR: "1" }), on(true, { NO_COLOR: "" })], [false, true]);
  const found = [on(false, { FORCE_COLOR: "1" }), on(true, { FORCE_COLOR: "0" })];
  assert.deepEqual(found, [true, false]);
  assert.equal(on(true, { FORCE_COLOR: "1", NO_COLOR: "1" }), false);
});
