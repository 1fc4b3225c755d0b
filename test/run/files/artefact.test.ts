import assert from "node:assert/strict";
import { readdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { digestOnly, openArtefact } from "../../../src/run/files/artefact-reader.ts";
import { createArtefact } from "../../../src/run/files/artefact-writer.ts";
import { anyText } from "../../support/any-text.ts";
import { holdsLater } from "../../support/seeded.ts";
import { tempRun, writePlan } from "./temp-run.ts";

async function linesIn(path: string): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const batch of (await openArtefact(path, "machines")).lines()) found.push(...batch);
  return found;
}

test("any lines come back as they were written", async (t) => {
  const run = await tempRun(t);
  const line = fc.dictionary(anyText, fc.jsonValue());
  await holdsLater(60, fc.array(line), async (lines) => {
    const wanted: unknown = JSON.parse(JSON.stringify(lines.filter((each) => !("footer" in each))));
    assert(Array.isArray(wanted));
    assert.deepEqual(await linesIn(await writePlan(run, wanted)), wanted);
  });
});

test("header, counts and digest come back, and each line was looked at", async (t) => {
  const run = await tempRun(t);
  const header = { tool: "0.1", format: "nova2ironic/machines@1" };
  const writer = await createArtefact(run, "machines.jsonl", header);
  await writer.write('{"id":1}');
  await writer.write({ id: 2 });
  const written = await writer.finish({ machines: 2 });
  const path = join(run.path, "machines.jsonl");
  const looked: number[] = [];
  const plan = await openArtefact<typeof header, { id: number }>(path, "machines", ({ id }) => {
    looked.push(id);
  });
  assert.deepEqual(plan.header, header);
  assert.deepEqual(plan.footer, { footer: { machines: 2 }, sha256: written.sha256 });
  for (const _twice of [1, 2]) {
    const batches = [];
    for await (const batch of plan.lines()) batches.push(batch);
    assert.deepEqual(batches, [[{ id: 1 }, { id: 2 }]]);
  }
  assert.deepEqual(looked, [1, 2, 1, 2]);
  assert.equal(await digestOnly(path, "machines"), written.sha256);
  assert.equal(written.lines, 2);
  const found = await stat(path);
  assert.equal(found.mode & 0o777, 0o600);
  assert.deepEqual(await readdir(run.path), ["machines.jsonl"]);
});

test("lines of every size around a block come back, written with and without waiting", async (t) => {
  const run = await tempRun(t);
  const sizes = [0, 1, 500, 170_000, 174_755, 174_763, 524_287, 524_288, 1_048_576, 3_000_000];
  const lines = sizes.flatMap((size) => [{ text: "ä".repeat(size) }, { text: "x".repeat(size) }]);
  assert.deepEqual(await linesIn(await writePlan(run, lines)), lines);
  const writer = await createArtefact(run, "machines.jsonl", { format: "nova2ironic/machines@1" });
  const waits = lines.map((line) => writer.write(line));
  await Promise.all(waits);
  await writer.finish({});
  assert.deepEqual(await linesIn(join(run.path, "machines.jsonl")), lines);
});

test("an artefact with any one byte changed is refused", async (t) => {
  const run = await tempRun(t);
  const path = await writePlan(run, [{ id: 1, secret: "äé" }, { id: 2 }, {}]);
  const whole = await readFile(path);
  for (let at = 0; at < whole.length; at++) {
    for (const flip of [0x01, 0x20, 0x80, (whole[at] ?? 0) ^ 0x0a, whole[at] ?? 0]) {
      if (flip === 0) continue;
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] ?? 0) ^ flip;
      await writeFile(path, changed);
      for (const read of [openArtefact, digestOnly])
        await assert.rejects(
          read(path, "machines"),
          { code: /N2I-E11[123]/ },
          `byte ${at} with ${flip}`,
        );
    }
  }
});

test("an artefact cut anywhere is refused as truncated", async (t) => {
  const run = await tempRun(t);
  const path = await writePlan(run, [{ id: 1 }, { id: 2 }]);
  for (let size = (await stat(path)).size - 1; size >= 0; size--) {
    await truncate(path, size);
    await assert.rejects(openArtefact(path, "machines"), { code: "N2I-E111" }, `cut at ${size}`);
  }
});
