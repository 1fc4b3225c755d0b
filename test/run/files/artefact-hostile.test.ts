import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFile,
  chmod,
  mkdir,
  open,
  readFile,
  stat,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { RefusalCode } from "../../../src/lib/refusals.ts";
import { footerLine } from "../../../src/run/files/artefact-form.ts";
import { digestOnly, openArtefact } from "../../../src/run/files/artefact-reader.ts";
import { refuses, tempRun, writePlan } from "./temp-run.ts";

const HEADER = '{"format":"nova2ironic/machines@1"}\n';

/** An artefact whose digest is right, whatever it holds. */
function forged(body: string | Buffer): Buffer {
  const bytes = Buffer.from(body);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return Buffer.concat([bytes, Buffer.from(`${footerLine({}, sha256)}\n`)]);
}

async function drain(path: string): Promise<void> {
  for await (const _batch of (await openArtefact(path, "machines")).lines());
}

async function givesNothing({ lines }: Awaited<ReturnType<typeof openArtefact>>): Promise<void> {
  for await (const _batch of lines()) assert.fail("a line was given out");
}

test("a missing file is refused with the command that makes it", async (t) => {
  const { path } = await tempRun(t);
  const file = join(path, "any.jsonl");
  await assert.rejects(openArtefact(file, "machines"), refuses("N2I-E110", "nova2ironic plan"));
  await assert.rejects(openArtefact(file, "snapshot"), refuses("N2I-E110", "nova2ironic extract"));
  await assert.rejects(digestOnly(file, "machines"), refuses("N2I-E110"));
});

test("another kind, another version and another's file are refused by name", async (t) => {
  const path = await writePlan(await tempRun(t), []);
  await assert.rejects(
    openArtefact(path, "snapshot"),
    refuses("N2I-E113", "nova2ironic/machines@1"),
  );
  const others = [
    '{"format":"nova2ironic/machines@7"}\n',
    '{"a":1}\n',
    "#!/bin/sh\n",
    "\n",
    "\0\0\0",
  ];
  for (const other of [...others, Buffer.from([0xff, 0xfe, 0, 1, 10])]) {
    await writeFile(path, other);
    await assert.rejects(openArtefact(path, "machines"), refuses("N2I-E113"));
    await assert.rejects(digestOnly(path, "machines"), refuses("N2I-E113"));
  }
});

test("a folder, a pipe and a device in a file's place are refused at once", async (t) => {
  const { path } = await tempRun(t);
  await mkdir(join(path, "folder"));
  assert.equal(spawnSync("mkfifo", [join(path, "pipe")]).status, 0);
  for (const other of [join(path, "folder"), join(path, "pipe"), "/dev/zero"]) {
    await assert.rejects(
      openArtefact(other, "machines"),
      refuses("N2I-E113", "not a regular file"),
    );
  }
});

test("lines after the footer, and two artefacts in one file, are refused", async (t) => {
  const path = await writePlan(await tempRun(t), [{ id: 1 }]);
  const whole = await readFile(path);
  await appendFile(path, '{"id":2}\n');
  await assert.rejects(openArtefact(path, "machines"), refuses("N2I-E111", "no footer"));
  await writeFile(path, Buffer.concat([whole, whole]));
  await assert.rejects(openArtefact(path, "machines"), refuses("N2I-E112"));
});

const forgeries: readonly (readonly [string, string | Buffer, RefusalCode])[] = [
  ["a line that is no JSON", `${HEADER}{"id":\n`, "N2I-E112"],
  ["an empty line", `${HEADER}\n{"id":1}\n`, "N2I-E112"],
  ["a line of NULs", `${HEADER}\0\0\0\n`, "N2I-E112"],
  ["an array", `${HEADER}[1]\n`, "N2I-E112"],
  ["a null", `${HEADER}null\n`, "N2I-E112"],
  ["a number", `${HEADER}12\n`, "N2I-E112"],
  ["bytes that are no UTF-8", Buffer.from(`${HEADER}{"id":"\xff"}\n`, "latin1"), "N2I-E112"],
  ["a header that is no JSON", '{"format":"nova2ironic/machines@1",\n{"id":1}\n', "N2I-E113"],
];
for (const [what, body, code] of forgeries) {
  test(`${what} is refused even under a right digest`, async (t) => {
    const path = join((await tempRun(t)).path, "machines.jsonl");
    await writeFile(path, forged(body));
    await assert.rejects(drain(path), refuses(code));
  });
}

test("a line of one gigabyte, which no string can hold, is refused", async (t) => {
  const path = join((await tempRun(t)).path, "machines.jsonl");
  const file = await open(path, "w");
  const footer = `\n${footerLine({}, "0".repeat(64))}\n`;
  await file.write(HEADER);
  await file.write(footer, 1024 ** 3); // a hole reads as NULs
  await file.close();
  await assert.rejects(openArtefact(path, "machines"), refuses("N2I-E112"));
  await writeFile(path, HEADER);
  const bare = await open(path, "r+");
  await bare.write("\n", 1024 ** 3);
  await bare.close();
  await assert.rejects(openArtefact(path, "machines"), refuses("N2I-E111", "no footer"));
});

test("a file that changes between check and reading is refused", async (t) => {
  const run = await tempRun(t);
  const path = await writePlan(run, [{ id: 1 }]);
  const plan = await openArtefact(path, "machines");
  await writePlan(run, [{ id: 2 }]);
  await assert.rejects(givesNothing(plan), refuses("N2I-E112", "changed while it was read"));
});

/** Waits until the file system's clock went on: two changes within a tick of it have one time. */
async function touched(path: string): Promise<void> {
  const { ctimeNs } = await stat(path, { bigint: true });
  do await chmod(path, 0o600);
  while ((await stat(path, { bigint: true })).ctimeNs === ctimeNs);
}

test("a file that is edited in place, its time put back, is refused", async (t) => {
  const path = await writePlan(await tempRun(t), [{ id: 1 }]);
  await utimes(path, 1, 1);
  const plan = await openArtefact(path, "machines");
  await touched(path);
  await writeFile(path, (await readFile(path, "utf8")).replace('"id":1', '"id":2'));
  await utimes(path, 1, 1);
  await assert.rejects(givesNothing(plan), refuses("N2I-E112", "does not match the digest"));
});

test("a file that a backup touches between check and reading is read on, in batches", async (t) => {
  const lines = Array.from({ length: 3000 }, (_, id) => ({ id, much: "x".repeat(1000) }));
  const path = await writePlan(await tempRun(t), lines);
  const plan = await openArtefact<object, { readonly id: number }>(path, "machines");
  for (const _ of [1, 2]) {
    let [id, mostly] = [0, false];
    for await (const batch of plan.lines()) {
      assert.ok(batch.length > 0 && batch.length <= 512);
      for (const line of batch) assert.equal(line.id, id++);
      if (id > 1000 && !mostly) await touched(path);
      mostly = id > 1000;
    }
    assert.equal(id, lines.length);
  }
});
