import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  chmodSync,
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { footerLine } from "../../src/run/files/artefact-form.ts";
import { copyFolder } from "../support/copy-folder.ts";
import { fleet } from "../support/fleet.ts";
import { quickSessions } from "../support/quick-sessions.ts";
import { refused, runs } from "./cli.ts";
import { type Deployment, deployFiles, extractAndPlan, plannedFiles } from "./deployment.ts";
import { digest, digests, treeOf } from "./digest.ts";
import { SMALL } from "./fleet.ts";
import { plannedWhole, type Whole, writing } from "./whole.ts";

function commands({ at, reader, writer, plan, run }: Deployment): {
  readonly [name: string]: readonly string[];
} {
  return {
    plan: ["plan", ...at, ...reader, ...plan, "-q"],
    apply: ["apply", ...at, ...writer, "--yes", "-q"],
    verify: ["verify", ...at, ...reader, "-q"],
    snapshot: ["show", `${run}/snapshot.jsonl`],
    diff: ["show", `${run}/plan`, "--diff"],
  };
}

const READERS = {
  "snapshot.jsonl": ["plan", "snapshot"],
  "machines.jsonl": ["apply", "diff"],
  "plan.json": ["apply", "diff"],
};

const edit = (from: string, to: string) => (path: string) => {
  const text = readFileSync(path, "utf8");
  assert.ok(text.includes(from), `${path} has ${from}`);
  writeFileSync(path, text.replace(from, to));
};

const cut = (path: string): void => truncateSync(path, readFileSync(path).length - 40);
const written = (text: string) => (path: string) => writeFileSync(path, text);
const rewritten = (path: string): void =>
  writeFileSync(path, JSON.stringify(JSON.parse(readFileSync(path, "utf8"))));

/** A whole file of machines, of a plan that has none. */
const HEADER = '{"format":"nova2ironic/machines@1","origins":[]}\n';
const ANOTHER = `${HEADER}${footerLine({}, createHash("sha256").update(HEADER).digest("hex"))}\n`;

const empty = (path: string): void => truncateSync(path, 0);

type Damage = readonly [string, keyof typeof READERS, (path: string) => void, code: string];

/** How a file of a run is damaged, and the code with which every command that reads it refuses. */
const DAMAGES: readonly Damage[] = [
  ["a truncated snapshot", "snapshot.jsonl", cut, "N2I-E111"],
  ["an edited snapshot", "snapshot.jsonl", edit("10.0.0.1", "10.0.0.9"), "N2I-E112"],
  ["a truncated plan", "machines.jsonl", cut, "N2I-E111"],
  ["an edited plan", "machines.jsonl", edit("10.0.0.1", "10.0.0.9"), "N2I-E112"],
  ["a truncated manifest", "plan.json", cut, "N2I-E111"],
  ["an empty manifest", "plan.json", empty, "N2I-E111"],
  ["an edited manifest", "plan.json", edit('"blocked": 0', '"blocked": 9'), "N2I-E112"],
  ["a manifest that another program wrote again", "plan.json", rewritten, "N2I-E112"],
  ["a manifest of another format", "plan.json", edit("/plan@2", "/plan@3"), "N2I-E113"],
  ["machines of another plan", "machines.jsonl", written(ANOTHER), "N2I-E114"],
];

test("a damaged file is refused by its name, and nothing is changed", async (t) => {
  const whole = await plannedFiles(t, SMALL);
  const target = await digest(whole.ironic);
  for (const [what, name, damage, code] of DAMAGES)
    await t.test(what, async () => {
      const run = join(whole.folder, "damaged");
      const made = { ...whole, run, at: ["--run", run] };
      rmSync(run, { recursive: true, force: true });
      copyFolder(whole.run, run);
      damage(join(run, name === "snapshot.jsonl" ? name : join("plan", name)));
      const before = treeOf(run);
      for (const reader of [...READERS[name], ...(code === "N2I-E112" ? ["verify"] : [])])
        await refused(commands(made)[reader] ?? [], 4, code, [new RegExp(name)]);
      const told = await runs(0, ["status", ...made.at, "-f", "json"]);
      assert.ok(told.out.includes(code), told.out);
      assert.deepEqual(treeOf(run), before);
    });
  assert.equal(await digest(whole.ironic), target);
});

test("a snapshot that was taken again after the plan is refused by apply and verify", async (t) => {
  const made = await plannedFiles(t, SMALL);
  const { apply = [], verify = [] } = commands(made);
  await made.bm.db("bm_nodes").where({ id: 2 }).update({ memory_mb: 1024 });
  await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
  const target = await digest(made.ironic);
  await refused(apply, 4, "N2I-E300", [/snapshot/]);
  await refused(verify, 4, "N2I-E114");
  assert.equal(await digest(made.ironic), target);
});

test("a key of another run, a key open to others, no key and a broken one are refused, and nothing is written", async (t) => {
  const made = await plannedFiles(t, SMALL);
  const other = await plannedFiles(t, SMALL);
  const [ours, theirs] = [join(made.run, "secret.key"), join(other.run, "secret.key")];
  const keep = join(made.folder, "keep.key");
  copyFileSync(ours, keep);
  const target = await digest(made.ironic);
  const { plan = [], apply = [], verify = [] } = commands(made);
  const all = async (saying: RegExp): Promise<void> => {
    const whole = treeOf(made.run);
    for (const words of [plan, apply, verify]) await refused(words, 4, "N2I-E115", [saying]);
    assert.deepEqual(treeOf(made.run), whole);
  };
  copyFileSync(theirs, ours);
  await all(/is not the key that sealed/);
  copyFileSync(keep, ours);
  chmodSync(ours, 0o644);
  await all(/open to other users \(mode 644\)/);
  rmSync(ours);
  await all(/is missing/);
  for (const text of ["", "nova2ironic/key@1\n", `${"0".repeat(64)}\n`]) {
    writeFileSync(ours, text, { mode: 0o600 });
    await refused(apply, 4, "N2I-E115", [/secret\.key/]);
  }
  for (const words of [plan, apply, verify])
    await refused([...words, "--key-file", theirs], 4, "N2I-E115", [/is not the key that sealed/]);
  assert.equal(await digest(made.ironic), target);
  await runs(0, [...apply, "--key-file", keep]);
  await runs(0, [...verify, "--key-file", keep]);
});

test("what was loaded keeps its key, and the way back names the key that fits", async (t) => {
  const made = await plannedFiles(t, SMALL);
  const other = await plannedFiles(t, SMALL);
  const { at, source, run: folder } = made;
  const { apply = [] } = commands(made);
  const theirs = join(other.run, "secret.key");
  await runs(0, apply);
  const kept = join(folder, "connections.yaml");
  const before = readFileSync(kept, "utf8");
  const none = join(made.folder, "none.key");
  const extract = ["extract", ...at, ...source, "-q"];
  await refused([...extract, "--key-file", none], 4, "N2I-E115", [/none\.key is missing/]);
  assert.equal(existsSync(none), false);
  const fits = [/is not the key that sealed/, /Fix: .*--key-file \S+run\/secret\.key/];
  await refused([...extract, "--key-file", theirs], 4, "N2I-E115", fits);
  assert.equal(readFileSync(kept, "utf8"), before);
  // Another key in the file of connections.
  appendFileSync(kept, `key_file: ${theirs}\n`);
  const back = ["rollback", ...at, "--all", "--yes"];
  await refused(back, 4, "N2I-E115", fits);
  const ours = join(folder, "secret.key");
  const moved = join(made.folder, "moved.key");
  renameSync(ours, moved);
  writeFileSync(kept, before);
  await refused(extract, 4, "N2I-E115", [/secret\.key is missing/]);
  assert.equal(existsSync(ours), false);
  await runs(0, [...back, "--key-file", moved]);
  // No rows are left to roll back, so the run accepts a new key.
  await runs(0, [...extract, "--key-file", none]);
});

test("another run's plan is none of this one's, by its key or without", async (t) => {
  const [made, other] = [await plannedFiles(t, SMALL), await plannedFiles(t, SMALL)];
  const { apply = [], verify = [] } = commands(made);
  const plan = join(made.run, "plan");
  rmSync(plan);
  cpSync(join(other.run, "plan"), plan, { recursive: true, dereference: true });
  const target = await digest(made.ironic);
  for (const words of [apply, verify])
    await refused(words, 4, "N2I-E114", [/a different snapshot/, /Run plan again on the snapshot/]);
  assert.equal(await digest(made.ironic), target);
});

/** A run after all stages, so that each journal has entries, and the state before them. */
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

type RunDamage = readonly [string, (path: string) => void, string, RegExp, readonly string[]];

/** Commands that read the journal, whatever part they act on: one damage meets all of them. */
const JOURNALS = ["boot", "release", "apply", "rollback"];
const [JOURNAL, HOSTS, MACHINES] = [
  ...["journal.jsonl", "plan/nova-hosts.jsonl", "plan/machines.jsonl"],
] as const;

/** A file that was damaged, how, and the code with which each command that reads it refuses. */
const RUN_DAMAGES: readonly RunDamage[] = [
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

/** Status 4 for a wrong file, and 1 if the disk cannot be written. */
const STATUS: { readonly [code: string]: number } = { "N2I-E120": 1 };

test("a file of the run that is another's, edited, of another version or no file is refused by the commands that read it", async (t) => {
  const made = await done(t);
  const there = [await digests(made), made.trees()];
  const copy = join(made.folder, "damaged");
  for (const [name, damage, code, saying, readers] of RUN_DAMAGES) {
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
