import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { copyFolder } from "../support/copy-folder.ts";
import { fleet } from "../support/fleet.ts";
import { quickSessions } from "../support/quick-sessions.ts";
import { refused, runs } from "./cli.ts";
import { deployFiles, extractAndPlan } from "./deployment.ts";
import { digests } from "./digest.ts";
import { plannedWhole, type Whole, writing } from "./whole.ts";

/** Everything done, so that each journal has something to say; what was there before. */
async function done(t: TestContext): Promise<Whole & { readonly before: unknown }> {
  quickSessions(t);
  const made = await plannedWhole("sqlite", t);
  const before = [await digests(made), made.trees()];
  const { apply = [], boot = [], release = [] } = writing(made, made.run);
  await runs(0, apply);
  await runs(0, boot);
  await runs(3, release);
  return { ...made, before };
}

const edit =
  (from: string, to: string) =>
  (path: string): void => {
    const text = readFileSync(path, "utf8");
    assert.ok(text.includes(from), `${path} has ${from}`);
    writeFileSync(path, text.replace(from, to));
  };
const swap =
  (name: string) =>
  (path: string): void =>
    copyFileSync(join(path, "..", name), path);
const fifo = (path: string): void => {
  rmSync(path);
  assert.equal(spawnSync("mkfifo", [path]).status, 0);
};
const folder = (path: string): void => {
  rmSync(path);
  mkdirSync(path);
};
const endless = (path: string): void => {
  const file = openSync(path, "w");
  ftruncateSync(file, 3 * 2 ** 30);
  closeSync(file);
};

type Damage = readonly [string, (path: string) => void, string, RegExp, readonly string[]];

/** Commands that read the journal, whatever part they act on: one damage meets all of them. */
const JOURNALS = ["boot", "release", "apply", "rollback"];
const [JOURNAL, HOSTS, MACHINES] = [
  ...["journal.jsonl", "plan/nova-hosts.jsonl", "plan/machines.jsonl"],
] as const;

/** A file that was damaged, how, and the code with which each command that reads it refuses. */
const DAMAGES: readonly Damage[] = [
  [JOURNAL, swap("plan/nova-hosts.jsonl"), "N2I-E113", /not a journal of nova2ironic/, ["apply"]],
  [JOURNAL, edit('"do":"end"', '"do":"End"'), "N2I-E112", /journal\.jsonl:\d/, JOURNALS],
  [JOURNAL, edit('"from":0', '"from":1'), "N2I-E112", /:\d.*from a copy/s, ["rollback"]],
  [JOURNAL, edit("@2", "@1"), "N2I-E113", /the version of nova2ironic that started/, ["release"]],
  [JOURNAL, fifo, "N2I-E113", /not a regular file/, ["plan"]],
  [JOURNAL, endless, "N2I-E113", /too large for a journal/, ["rollback"]],
  [JOURNAL, folder, "N2I-E120", /EISDIR/, ["boot"]],
  [HOSTS, swap("machines.jsonl"), "N2I-E113", /nova-hosts\.jsonl/, ["verify"]],
  [HOSTS, edit("c-compute", "c-Compute"), "N2I-E112", /hosts\.jsonl.*Run the stage/s, ["apply"]],
  [HOSTS, edit("nova@2", "nova@7"), "N2I-E113", /nova-hosts\.jsonl/, ["verify"]],
  [MACHINES, swap("nova-hosts.jsonl"), "N2I-E113", /machines\.jsonl/, ["boot", "verify"]],
  ["plan/plan.json", fifo, "N2I-E113", /plan\.json/, ["apply"]],
  ["plan/nova-shared.jsonl", swap("nova-hosts.jsonl"), "N2I-E114", /nova-shared\.jsonl/, ["apply"]],
  [MACHINES, fifo, "N2I-E113", /machines\.jsonl/, ["release"]],
];

/** 4 where what is there is not what it should be; 1 where the disk does not take it. */
const STATUS: { readonly [code: string]: number } = { "N2I-E120": 1 };

test("a file of the run that is another's, edited, of another version or no file is refused by the commands that read it", async (t) => {
  const made = await done(t);
  const there = [await digests(made), made.trees()];
  const copy = join(made.folder, "damaged");
  for (const [name, damage, code, saying, readers] of DAMAGES) {
    copyFolder(made.run, copy);
    damage(join(copy, name));
    for (const reader of readers) {
      const words = writing(made, copy)[reader] ?? [];
      await refused(words, STATUS[code] ?? 4, code, [saying]);
    }
    // It is a fact of the run, not a failure of status.
    const { out } = await runs(0, ["status", "--run", copy]);
    assert.ok(out.includes(code === "N2I-E120" ? "N2I-E113" : code), `${name} ${code}\n${out}`);
    rmSync(copy, { recursive: true });
  }
  assert.deepEqual([await digests(made), made.trees()], there);
});

test("a journal whose last line a crash cut short is gone on with, and all is taken back", async (t) => {
  const made = await done(t);
  const { boot = [], release = [], rollback = [], apply = [] } = writing(made, made.run);
  const journal = join(made.run, "journal.jsonl");
  const words = [boot, release, apply, [...boot, "--undo"], [...release, "--undo"], rollback];
  for (const [at, command] of words.entries()) {
    appendFileSync(journal, '{"do":"und');
    await runs(0, ["status", ...made.at]);
    await runs(at === 1 ? 3 : 0, command);
  }
  assert.doesNotMatch(readFileSync(journal, "utf8"), /"und(?!o)/);
  assert.deepEqual([await digests(made), made.trees()], made.before);
});

test("a journal damaged where finish wrote is refused by every command that reads it, and one cut short is gone on with", async (t) => {
  const made = await deployFiles(t, fleet(6, "2023.1"));
  const { at, reader, writer } = made;
  await extractAndPlan(made);
  const before = await digests(made);
  await runs(0, ["apply", ...at, ...writer, "--yes", "-q"]);
  const loaded = await digests(made);
  await runs(0, ["finish", ...at, ...writer, "--yes", "-q"]);
  const finished = await digests(made);
  const copy = join(made.folder, "damaged");
  const on = ["--run", copy];
  const all: readonly (readonly string[])[] = [
    ["finish", ...on, ...writer, "--yes"],
    ["finish", ...on, ...reader, "--undo", "--plan"],
    ["apply", ...on, ...writer, "--yes"],
    ["handover", ...on, ...writer, "--undo", "--yes"],
    ["rollback", ...on, ...writer, "--all", "--yes"],
  ];
  for (const [damage, code, readers] of [
    [edit('"fields":["protected"', '"fields":["Protected"'), "N2I-E112", all],
    [fifo, "N2I-E113", all.slice(0, 1)],
  ] as const) {
    copyFolder(made.run, copy);
    damage(join(copy, "journal.jsonl"));
    for (const words of readers) await refused([...words, "-q"], 4, code, [/journal\.jsonl/]);
    const { out } = await runs(0, ["status", ...on]);
    assert.ok(out.includes(code), out);
    rmSync(copy, { recursive: true });
  }
  assert.deepEqual(await digests(made), finished);
  const journal = join(made.run, "journal.jsonl");
  appendFileSync(journal, '{"do":"reo');
  assert.match((await runs(0, ["status", ...at])).out, /done, ended/);
  await runs(0, ["finish", ...at, ...writer, "--undo", "--yes"]);
  assert.doesNotMatch(readFileSync(journal, "utf8"), /"reo(?!pen)/);
  assert.deepEqual(await digests(made), loaded);
  await runs(0, ["rollback", ...at, ...writer, "--all", "--yes"]);
  assert.deepEqual(await digests(made), before);
});
