import assert from "node:assert/strict";
import { test } from "node:test";
import { fleet } from "../support/fleet.ts";
import { scene } from "../support/scene.ts";
import { ALL, YES } from "./matrix.ts";
import { ends, killedAt, loadedRows, statusOf } from "./truth.ts";

/** Two whole batches as the tool has them, and two machines more. */
const BATCH = 500;
const MACHINES = 2 * BATCH + 2;
for (const engine of ["sqlite", "mysql", "postgresql"] as const)
  test(`on ${engine}, batches of the tool's own size are killed, gone on with and taken back`, async (t) => {
    const made = await scene(engine, t, fleet(MACHINES));
    const before = await made.digest();
    await killedAt(made, "commit.after:2", "apply", YES);
    assert.equal(await loadedRows(made), 4 * BATCH);
    await ends(0, made.does("apply", YES));
    assert.match(
      (await statusOf(made)).apply,
      new RegExp(`: ${2 * MACHINES} rows created in 3 batches$`),
    );
    await ends(0, made.does("verify"));
    await killedAt(made, "commit.before:2", "rollback", ALL);
    assert.equal(await loadedRows(made), 2 * (MACHINES - BATCH));
    await ends(0, made.does("rollback", ALL));
    assert.equal(await made.digest(), before);
  });
