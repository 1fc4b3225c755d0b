import assert from "node:assert/strict";
import { test } from "node:test";
import { runs } from "../hostile/cli.ts";
import { engines } from "../lab/engines.ts";
import { rehearsing } from "./scene.ts";

const WAY = ["apply", "verify", "rollback", "apply again", "verify again"];

for (const engine of engines())
  test(`on ${engine}, a login that only reads Ironic rehearses the whole way, and leaves all as it was`, async (t) => {
    const { words, dump, isCopied, found } = await rehearsing(engine, t);
    const before = await dump();
    const { out, err } = await runs(0, [...words, "--yes", "-f", "json"]);
    assert.equal(await dump(), before);
    assert.equal(await isCopied(), false);
    const rows = JSON.parse(out) as { Stage: string; Rows: number; Result: string }[];
    assert.equal(rows.shift()?.Stage, "copy");
    assert.deepEqual(
      rows.map(({ Stage, Rows, Result }) => [Stage, Rows, Result]),
      WAY.map((stage) => [stage, 4, "done"]),
      `${out}${err}`,
    );
    assert.equal(found().held, true);
  });
