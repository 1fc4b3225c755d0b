import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { appendFile, mkdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { Entry } from "../../../src/model/journal.ts";
import { openJournal, readJournal } from "../../../src/run/files/journal.ts";
import type { RunFolder } from "../../../src/run/files/run-folder.ts";
import { edit, refuses, tempRun } from "./temp-run.ts";

const span = { part: "ironic", plan: "ab".repeat(32), from: 0, to: 50, at: "2026-01-01T00:00:00Z" };
const BEGIN: Entry = { do: "begin", ...span, by: "root@host" };
const ENTRIES: readonly Entry[] = [
  { do: "open", format: "nova2ironic/journal@2", tool: "0.1" },
  BEGIN,
  { do: "done", ...span, created: 49, found: ["node:x"] },
  { do: "undo", ...span, nodes: ["u1"], by: "root@host" },
  { do: "undone", ...span, removed: 3, gone: 0, settled: [], conflicts: [] },
  { do: "undo", ...span, nodes: "all", by: "root@host" },
  { do: "undone", ...span, removed: 140, gone: 3, settled: ["u1"], conflicts: [] },
];

async function written(run: RunFolder): Promise<string> {
  const journal = await openJournal(run);
  for (const entry of ENTRIES) await journal.append(entry);
  await journal.close();
  return join(run.path, "journal.jsonl");
}

async function read(run: RunFolder): Promise<unknown> {
  return { entries: [...(await readJournal(run)).entries] };
}

test("what was appended is there when the journal is opened again", async (t) => {
  const run = await tempRun(t);
  const path = await written(run);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  const journal = await openJournal(run);
  assert.deepEqual([...journal.entries()], ENTRIES);
  await journal.append(BEGIN);
  await journal.close();
  assert.deepEqual(await read(run), { entries: [...ENTRIES, BEGIN] });
});

test("appends that overlap keep the order of the calls", async (t) => {
  const run = await tempRun(t);
  const journal = await openJournal(run);
  await Promise.all(ENTRIES.map((entry) => journal.append(entry)));
  await journal.close();
  assert.deepEqual(await read(run), { entries: ENTRIES });
});

test("a journal cut anywhere is opened without its torn line, and goes on", async (t) => {
  const run = await tempRun(t);
  const path = await written(run);
  const whole = await readFile(path);
  const last = ENTRIES.at(-1);
  assert(last !== undefined);
  for (let size = 0; size < whole.length; size += 31) {
    const cut = whole.subarray(0, size);
    const lines = cut.toString().split("\n").length - 1;
    await writeFile(path, cut);
    // What cuts an entry off while it is written comes before the word that there is one.
    if (lines === 0) await rm(join(run.path, "run.place"), { force: true });
    assert.deepEqual(await read(run), { entries: ENTRIES.slice(0, lines) });
    assert.deepEqual(await readFile(path), cut);
    const journal = await openJournal(run);
    assert.deepEqual([...journal.entries()], ENTRIES.slice(0, lines));
    if (lines > 0) await journal.append(last);
    await journal.close();
  }
});

test("the NULs a power cut leaves at the end are cut off", async (t) => {
  const run = await tempRun(t);
  await appendFile(await written(run), "\0".repeat(100));
  const journal = await openJournal(run);
  assert.deepEqual([...journal.entries()], ENTRIES);
  await journal.close();
});

test("a journal with any byte of an earlier line changed is refused", async (t) => {
  const run = await tempRun(t);
  const path = await written(run);
  const whole = await readFile(path);
  const end = whole.lastIndexOf(0x0a, whole.length - 2);
  for (let at = 0; at < end; at += 3) {
    const changed = Buffer.from(whole);
    changed[at] = (changed[at] ?? 0) ^ 1;
    await writeFile(path, changed);
    const refused = { code: /N2I-E11[23]/ };
    await assert.rejects(readJournal(run), refused, `byte ${at}`);
    if (at % 50 === 0) await assert.rejects(openJournal(run), refused);
  }
});

test("a line taken out, put in or moved breaks the chain and is named", async (t) => {
  const run = await tempRun(t);
  const path = await written(run);
  await edit(path, (text) => text.replace(/\{"do":"done".*\n/, ""));
  await assert.rejects(readJournal(run), refuses("N2I-E112", "journal.jsonl:3 does not follow"));
  await assert.rejects(openJournal(run), refuses("N2I-E112"));
});

const wrong: readonly (readonly [string, string, string])[] = [
  ["a verb nobody knows", '"do":"undone"', '"do":"redone"'],
  ["a position that is text", '"from":0', '"from":"0"'],
  ["a position below zero", '"from":0', '"from":-1'],
  ["a span that ends before it begins", '"from":0', '"from":51'],
  ["a missing plan", '"plan"', '"plot"'],
  ["a list that holds a number", '["u1"]', "[1]"],
  ["a list that is none", '"conflicts":[]', '"conflicts":{}'],
];
for (const [what, from, to] of wrong) {
  test(`${what} in the last line is refused`, async (t) => {
    const run = await tempRun(t);
    const path = await written(run);
    await edit(path, (text) => {
      const start = text.lastIndexOf('{"do"');
      return text.slice(0, start) + text.slice(start).replace(from, to);
    });
    await assert.rejects(readJournal(run), refuses("N2I-E112", "journal.jsonl:7"));
  });
}

test("another file, or a journal of another version, in the journal's place is refused and left as it is", async (t) => {
  const run = await tempRun(t);
  const path = join(run.path, "journal.jsonl");
  const foreign = ["notes", "\n", "[]\n", '{"do":"begin"}\n', '{"format":"nova2ironic/plan@1"}\n'];
  const first = { ...ENTRIES[0], format: "nova2ironic/journal@1", prev: "0".repeat(16) };
  foreign.push(`${JSON.stringify(first)}\n`);
  for (const text of foreign) {
    await writeFile(path, text);
    await assert.rejects(openJournal(run), refuses("N2I-E113"));
    await assert.rejects(readJournal(run), refuses("N2I-E113"));
    assert.equal(await readFile(path, "utf8"), text);
  }
  const other = await tempRun(t);
  await mkdir(join(other.path, "journal.jsonl"));
  await assert.rejects(readJournal(other), refuses("N2I-E113", "not a regular file"));
});

/** Lines of machines that were handed over, after those of every journal. */
async function long(run: RunFolder, machines: number): Promise<Entry[]> {
  const entries = [...ENTRIES];
  const about = { part: "hand-over", at: "2026-01-01T00:00:00.000Z" };
  for (let machine = 0; machine < machines; machine += 1) {
    const id = `Königsberg-${machine}`;
    entries.push({ do: "start", ...about, id, by: "root@host" }, { do: "end", ...about, id });
  }
  let prev = "0".repeat(16);
  let text = "";
  for (const entry of entries) {
    const line = JSON.stringify({ ...entry, prev });
    prev = hash("sha256", line).slice(0, 16);
    text += `${line}\n`;
  }
  await writeFile(join(run.path, "journal.jsonl"), text);
  return entries;
}

test("a journal of many chunks is read, refused at its line, or for a byte of its last that is no text", async (t) => {
  const run = await tempRun(t);
  const path = join(run.path, "journal.jsonl");
  const entries = await long(run, 10_000);
  const whole = await readFile(path);
  assert.ok(whole.length > 2_000_000, String(whole.length));
  assert.deepEqual(await read(run), { entries });
  await appendFile(path, `{"do":"end","part":"${"x".repeat(2_000_000)}`);
  assert.deepEqual(await read(run), { entries });
  const journal = await openJournal(run);
  assert.deepEqual([...journal.entries()], entries);
  await journal.close();
  assert.deepEqual(await readFile(path), whole);
  const broken = Buffer.from(whole);
  const at = broken.indexOf('"id":"Königsberg-5000"');
  broken[at + 2] = 0x78;
  await writeFile(path, broken);
  await assert.rejects(
    readJournal(run),
    refuses("N2I-E112", "journal.jsonl:10008 has an invalid id"),
  );
  broken[broken.length - 5] = 0xff;
  await writeFile(path, broken);
  await assert.rejects(readJournal(run), refuses("N2I-E112", "is not valid UTF-8"));
});

test("a journal is read once as long as it stays as it is, and anew once it was written", async (t) => {
  const run = await tempRun(t);
  const path = await written(run);
  // An entry of a batch is kept as it was read.
  const { entries } = await readJournal(run);
  const [, first] = entries;
  assert.equal((await readJournal(run)).entries.at(1), first);
  const other = await tempRun(t);
  await assert.rejects(openJournal({ path: join(other.path, "gone") }));
  assert.deepEqual(await read(other), { entries: [] });
  await readJournal(run);
  const journal = await openJournal(run);
  const beside = await openJournal(run);
  await journal.append(BEGIN);
  await journal.close();
  await beside.close();
  assert.deepEqual([...beside.entries()], ENTRIES, "what is appended is in no other's entries");
  assert.deepEqual([...journal.entries()], [...ENTRIES, BEGIN]);
  assert.deepEqual(await read(run), { entries: [...ENTRIES, BEGIN] });
  assert.deepEqual([...entries], ENTRIES, "what was read stays as it was");
  await utimes(path, 1, 1);
  await readJournal(run);
  // With its size and its time as they were.
  const changed = async (): Promise<bigint> => (await stat(path, { bigint: true })).ctimeNs;
  const before = await changed();
  await edit(path, (text) => text.replace("root@host", "toor@host"));
  do await utimes(path, 1, 1);
  while ((await changed()) === before);
  await assert.rejects(readJournal(run), refuses("N2I-E112", "journal.jsonl:3 does not follow"));
});
