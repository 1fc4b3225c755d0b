import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { ends, type Ran, refused, runs, start } from "../hostile/cli.ts";
import { withDatabase } from "../lab/index.ts";
import { finishedRun } from "./scene.ts";

/** Presses Ctrl-C where a command is met, and lets it go on. */
async function stoppedAt(words: readonly string[], point: string): Promise<Ran> {
  const env = { NOVA2IRONIC_FAILPOINT: `${point}:1:pause` };
  const started = start([...words, "-q"], { env });
  await started.said(`failpoint ${point}`);
  started.signal("SIGINT");
  // Nobody says in which order two signals are heard: it ends at once, or says that it will.
  const isHeard = started.said("once more stops at once").catch(() => undefined);
  await Promise.race([started.ended, isHeard]);
  started.signal("SIGUSR2");
  return started.ended;
}

test("Ctrl-C ends retire wherever it is, leaves nothing half done, and the same command goes on", async (t) => {
  const made = await finishedRun("sqlite", t);
  const empty = await withDatabase("sqlite", t);
  const { words, owner, bm, at, run, folder, entries } = made;
  const files = (): readonly string[] =>
    readdirSync(run).filter((name) => /nova_bm|tmp|lock/.test(name));
  const archive = [...words, "--grace", "0", "--yes"];
  for (const point of ["archive.begun", "archive.restored"]) {
    const { status, err } = await stoppedAt(archive, point);
    assert.equal(status, 130, `${point} ${err}`);
    // Whole, and not in the journal: nothing goes by it.
    assert.deepEqual(files(), point === "archive.begun" ? [] : ["nova_bm.jsonl"]);
    assert.ok(!entries().some((entry) => entry.do === "archive"));
  }
  await runs(0, [...archive, "-q"]);

  const drop = [...owner, "--drop", "--yes-drop", basename(bm.name)];
  const { status, err } = await stoppedAt(drop, "drop.after");
  assert.equal(status, 130, err);
  const dropped = () => entries().flatMap((one) => (one.do === "dropped" ? [one.table] : []));
  assert.deepEqual(dropped(), ["bm_interfaces"]);
  assert.deepEqual(
    [await bm.db.schema.hasTable("bm_interfaces"), await bm.db.schema.hasTable("bm_nodes")],
    [false, true],
  );
  await runs(0, [...drop, "-q"]);
  assert.deepEqual(dropped(), ["bm_interfaces", "bm_nodes", "migrate_version"]);

  const to = (name: string): readonly string[] => {
    const url = join(folder, `${basename(name)}.url`);
    writeFileSync(name, "");
    writeFileSync(url, `sqlite:///${name}`, { mode: 0o600 });
    return ["retire", ...at, "--restore", `file:${url}`, "--yes"];
  };
  const half = to(empty.name);
  await ends(130, stoppedAt(half, "restore.filled"));
  assert.ok(!entries().some((entry) => entry.do === "restored"));
  await refused([...half, "-q"], 4, "N2I-E342");
  await runs(0, [...to(join(folder, "another.sqlite")), "-q"]);
  assert.ok(entries().some((entry) => entry.do === "restored"));
});
