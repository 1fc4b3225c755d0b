import assert from "node:assert/strict";
import { cp, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { openJournal, readJournal } from "../../../src/run/files/journal.ts";
import { refuses, tempRun } from "./temp-run.ts";

test("a copy of a run that has begun is refused, a renamed one and one that is given a word are not", async (t) => {
  const run = await tempRun(t);
  const first = join(run.path, "first");
  const begun = { path: first };
  await mkdir(first, { mode: 0o700 });
  const opened = async (path: string): Promise<void> => (await openJournal({ path })).close();
  const journal = await openJournal(begun);
  // Copied before anything began, both are runs of their own.
  const early = join(run.path, "early");
  await cp(first, early, { recursive: true });
  await opened(early);
  await journal.append({ do: "open", format: "nova2ironic/journal@2", tool: "1" });
  await journal.close();
  await opened(first);
  const copy = join(run.path, "a copy");
  await cp(first, copy, { recursive: true });
  await assert.rejects(opened(copy), refuses("N2I-E222", `rm '${copy}/run.place'`));
  await assert.rejects(opened(copy), refuses("N2I-E222"));
  await rm(join(copy, "run.place"));
  await opened(copy);
  const renamed = join(run.path, "renamed");
  await rename(first, renamed);
  await opened(renamed);
});

test("a run that began and has no journal, or an empty one, does not pass for one that loaded nothing", async (t) => {
  const run = await tempRun(t);
  assert.equal((await readJournal(run)).entries.length, 0);
  await (await openJournal(run)).close();
  // Opened, and nothing done: it may go.
  await rm(join(run.path, "journal.jsonl"));
  assert.equal((await readJournal(run)).entries.length, 0);
  const journal = await openJournal(run);
  await journal.append({ do: "open", format: "nova2ironic/journal@2", tool: "1" });
  await journal.close();
  const lost = refuses("N2I-E112", "missing or empty, but run.place shows that it had entries");
  for (const lose of [
    () => rm(join(run.path, "journal.jsonl")),
    () => writeFile(join(run.path, "journal.jsonl"), ""),
  ]) {
    await lose();
    await assert.rejects(readJournal(run), lost);
    await assert.rejects(openJournal(run), lost);
  }
  await rm(join(run.path, "run.place"));
  assert.equal((await readJournal(run)).entries.length, 0);
});
