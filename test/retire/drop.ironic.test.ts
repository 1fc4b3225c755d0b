import assert from "node:assert/strict";
import { basename } from "node:path";
import { test } from "node:test";
import { ends, onTerminal, runs } from "../hostile/cli.ts";
import { finishedRun } from "./scene.ts";

test("on a terminal a drop asks for the database's name, and takes no other word", async (t) => {
  const { words, owner, bm } = await finishedRun("sqlite", t);
  await runs(0, [...words, "--grace", "0", "--yes", "-q"]);
  const drop = [...owner, "--drop"];
  for (const answer of ["yes", "", "NOVA_BM"]) {
    const { out } = await ends(4, onTerminal(drop, `${answer}\n`));
    assert.match(out, /Rollback ends with them; .* Type the database's name, /s);
    assert.ok(await bm.db.schema.hasTable("bm_nodes"));
  }
  await ends(0, onTerminal(drop, `${basename(bm.name)}\n`));
  assert.equal(await bm.db.schema.hasTable("bm_nodes"), false);
});
