import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { ends, pausedAt, run } from "../../hostile/cli.ts";
import { engines, testOnce } from "../../lab/engines.ts";
import { IMAGES } from "./cloud.ts";
import { plannedCloud } from "./planned.ts";
import { sameRows } from "./rows.ts";

const HOST = ["--compute-host", "ironic-compute", ...IMAGES];

for (const engine of engines("mysql", "postgresql"))
  test(`on ${engine}, of two applies to one nova one is kept out, and later neither writes nor owns what the other did`, async (t) => {
    // Each knows nothing of what the other loads.
    const made = await plannedCloud(engine, t, [...HOST, "--beside-others"]);
    const { at, writer, novaWriter, act, copy } = made;
    const other = copy("other");
    const words = [...at, ...writer, ...novaWriter, "--yes", "-q"];
    const first = await pausedAt("nova.commit.before:1", ["apply", ...words]);
    const kept = await ends(11, act(["apply"], undefined, other));
    assert.match(kept.err, /N2I-E302/);
    first.signal("SIGUSR2");
    await ends(0, first.ended);
    const loaded = await made.now();
    const second = await ends(0, act(["apply"], undefined, other));
    assert.match(second.out, /flavors: 0 rows changed, 4 so already/);
    assert.match(second.out, /hosts: 0 rows changed, \d+ so already, 0 left/);
    await ends(0, act(["rollback", "--all"], undefined, other));
    const after = await made.now();
    sameRows(after.nova, loaded.nova);
    sameRows(after.ironic, loaded.ironic);
    await ends(0, act(["rollback", "--all"]));
    await made.isAsBefore();
  });

testOnce("a journal of nova's rows that lost its last line is gone on with", async (t) => {
  const made = await plannedCloud("sqlite", t);
  const { at, act } = made;
  await ends(0, act(["apply"]));
  const journal = `${made.run}/journal.jsonl`;
  const told = readFileSync(journal, "utf8").trimEnd().split("\n");
  assert.match(told.at(-1) ?? "", /"do":"done"/);
  writeFileSync(journal, `${told.slice(0, -1).join("\n")}\n`, { mode: 0o600 });
  const status = await run(["status", ...at]);
  assert.match(status.out, /1 batch begun and not recorded as done/);
  const again = await ends(0, act(["apply"]));
  assert.match(again.out, /hosts: 0 rows changed, \d+ so already, 0 left/);
  await ends(0, act(["rollback", "--all"]));
  await made.isAsBefore();
});
