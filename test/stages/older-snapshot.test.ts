import assert from "node:assert/strict";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createArtefact } from "../../src/edge/disk/artefact-writer.ts";
import { openRun } from "../../src/edge/disk/run-folder.ts";
import { openSnapshot } from "../../src/stages/run.ts";
import { SITE, tenant } from "../hostile/fleet.ts";
import { scene } from "../support/scene.ts";

test("a snapshot of the form before is read, with duplicates under the name they had", async (t) => {
  const at = await scene("sqlite", t, {
    shows: "two machines of one BMC",
    nova_bm: { nodes: [tenant(1), { id: 2 }] },
    site: SITE,
  });
  assert.ok(at);
  const path = join(at.run, "snapshot.jsonl");
  const duplicates = async () => {
    const found: unknown[] = [];
    for await (const batch of (await openSnapshot(path)).lines())
      for (const line of batch) found.push("orphan" in line ? null : line.duplicates);
    return found;
  };
  const now = await duplicates();
  assert.equal(now.length, 2);
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  const older = lines.map((line) => line.replace("@2", "@1").replace('"duplicates":', '"rivals":'));
  const [header, ...rest] = older.map((line) => JSON.parse(line));
  const { footer } = rest.pop();
  rmSync(path);
  const run = await openRun(at.run, { create: false });
  const writer = await createArtefact(run, "snapshot.jsonl", header);
  for (const line of rest) await writer.write(line);
  await writer.finish(footer);
  assert.match(readFileSync(path, "utf8"), /snapshot@1.*"rivals":/s);
  assert.deepEqual(await duplicates(), now);
});
