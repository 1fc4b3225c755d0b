import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { refused, runs } from "../../hostile/cli.ts";
import { rehearsing } from "./scene.ts";

test("no command goes on with a rehearsal's own run", async (t) => {
  const made = await rehearsing("sqlite", t);
  const { words, run, at, writer, dump } = made;
  await runs(0, [...words, "--yes", "-q"]);
  await runs(0, ["apply", ...at, ...writer, "--yes", "-q"]);
  const before = await dump();
  const inner = join(run, "rehearsal");
  assert.equal(existsSync(join(inner, "connections.yaml")), false);
  const isRefused = async (...command: readonly string[]): Promise<void> => {
    const asked = [...command, "--run", inner, "-q"];
    const { err } = await refused(asked, 64, "N2I-E110", [
      /belongs to a rehearsal, and its journal describes copies/,
    ]);
    assert.ok(err.replaceAll(/\s+/g, "").includes(`Use--run${run}`), `${asked} ${err}`);
  };
  for (const command of [
    ["rollback", "--all", "--plan", ...writer],
    ["apply", ...writer, "--yes"],
    ["verify", ...writer],
    ["status"],
    ["next"],
    ["report"],
    ["window", "open"],
    ["rehearse", ...words.slice(-2)],
  ])
    await isRefused(...command);
  assert.equal(await dump(), before);
  await runs(0, ["support", "--run", inner, "--to", join(made.folder, "inner.tar.gz"), "-q"]);
});
