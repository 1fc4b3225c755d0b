import assert from "node:assert/strict";
import { test } from "node:test";
import { runs } from "../hostile/cli.ts";

test("the script of completion asks this program, which offers commands, options and choices", async () => {
  const { out } = await runs(0, ["completion"]);
  assert.match(out, /nova2ironic.* --get-yargs-completions/);
  for (const [words, offered] of [
    [["hand"], "handover"],
    [["apply", "--skip"], "--skip-blocked"],
    [["show", "m1", "-f", "j"], "json"],
  ] as const) {
    const asked = ["--get-yargs-completions", "nova2ironic", ...words];
    assert.match((await runs(0, asked)).out, new RegExp(`^${offered}`, "m"), words.join(" "));
  }
});
