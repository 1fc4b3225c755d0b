import assert from "node:assert/strict";
import { test } from "node:test";
import { killedAt, runs } from "../../hostile/cli.ts";
import { engines, testOnce } from "../../lab/engines.ts";
import { dumpOf, rehearsing, restored } from "./scene.ts";

const STAGES = ["apply", "verify", "rollback", "apply again", "verify again"];

for (const engine of engines())
  test(`on ${engine}, a restored backup is loaded, rolled back and loaded, and Ironic stays as it was`, async (t) => {
    const { words, dump, found, copy } = await rehearsing(engine, t);
    const before = await dump();
    const { out, err } = await runs(0, [...words, "--yes", "-f", "json"]);
    assert.equal(await dump(), before);
    const rows = JSON.parse(out) as { Stage: string; Rows: number; Result: string }[];
    assert.deepEqual(
      rows.map(({ Stage, Rows, Result }) => [Stage, Rows, Result]),
      STAGES.map((stage) => [stage, 4, "done"]),
      `${out}${err}`,
    );
    assert.match(err, /^Rollback: every row of the copies is as it was before\.$/m);
    assert.match(err.replaceAll("\n", " "), /Drop the copies, which hold passwords: /);
    assert.equal(found().held, true);
    assert.notEqual(await dumpOf(copy), before);
  });

testOnce("a rehearsal that was killed is run again on a copy that is restored again", async (t) => {
  const made = await rehearsing("sqlite", t);
  const { at, dump, found } = made;
  const before = await dump();
  const words = async () => {
    const { url } = await restored(t, made, made.ironic);
    return ["rehearse", ...at, "--ironic-db", url, "--yes", "-q"];
  };
  for (const point of ["commit.before", "commit.after"]) {
    await killedAt(`${point}:1`, await words());
    assert.equal(await dump(), before, point);
    await runs(0, await words());
    assert.equal(found().held, true);
  }
});
