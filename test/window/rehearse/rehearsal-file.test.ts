import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openRun } from "../../../src/run/files/run-folder.ts";
import { REHEARSED, readRehearsal } from "../../../src/window/rehearse/rehearsal-file.ts";
import { privateFolder } from "../../hostile/deployment.ts";

const VALID = {
  ...{ format: "nova2ironic/rehearsal@1", at: "2026-01-01T00:00:00.000Z", plan: "a".repeat(64) },
  ...{ stages: [], refusals: [], held: true, loaded: null, nova: { rows: 0, left: 0, why: null } },
};

test("a rehearsal.json with a field of another type counts as no rehearsal", async (t) => {
  const run = await openRun(join(privateFolder(t), "run"), { create: true });
  const read = (change: object) => {
    writeFileSync(join(run.path, REHEARSED), JSON.stringify({ ...VALID, ...change }));
    return readRehearsal(run);
  };
  assert.equal((await read({}))?.plan, VALID.plan);
  for (const change of [
    ...[{ format: "nova2ironic/rehearsal@2" }, { at: 1 }, { plan: null }, { held: "yes" }],
    ...[{ stages: {} }, { refusals: null }, { nova: null }, { nova: { left: "0" } }],
    ...[{ loaded: { count: 1 } }, { loaded: [] }],
  ])
    assert.equal(await read(change), null, JSON.stringify(change));
});
