import assert from "node:assert/strict";
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { refused, runs } from "./cli.ts";
import { type Deployment, deployFiles } from "./deployment.ts";
import { digest, treeOf } from "./digest.ts";
import { SMALL } from "./fleet.ts";

async function planned(t: TestContext): Promise<Deployment> {
  const made = await deployFiles(t, SMALL);
  await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
  await runs(0, ["plan", ...made.at, ...made.reader, ...made.plan, "-q"]);
  return made;
}

/** The commands that read a run, each with what it takes to begin. */
function commands({ at, reader, writer, plan, run }: Deployment): {
  readonly [name: string]: readonly string[];
} {
  return {
    plan: ["plan", ...at, ...reader, ...plan, "-q"],
    apply: ["apply", ...at, ...writer, "--yes", "-q"],
    verify: ["verify", ...at, ...reader, "-q"],
    snapshot: ["show", `${run}/snapshot.jsonl`],
    diff: ["show", `${run}/plan.jsonl`, "--diff"],
  };
}

/** A file of a run that was damaged, and how every command that reads it refuses. */
interface Damage {
  readonly what: string;
  readonly name: "snapshot.jsonl" | "plan.jsonl";
  readonly damage: (path: string) => void;
  readonly code: string;
}

const READERS = {
  "snapshot.jsonl": ["plan", "snapshot"],
  "plan.jsonl": ["apply", "diff"],
};

/** Replaces text with other text of the same length. */
function edit(from: string, to: string): (path: string) => void {
  return (path) => {
    const text = readFileSync(path, "utf8");
    assert.ok(text.includes(from));
    writeFileSync(path, text.replace(from, to));
  };
}

const cut = (path: string): void => truncateSync(path, readFileSync(path).length - 40);
const kind = edit("nova2ironic/plan@1", "nova2ironic/plan@2");

const DAMAGES: readonly Damage[] = [
  { what: "a truncated snapshot", name: "snapshot.jsonl", damage: cut, code: "N2I-E111" },
  {
    what: "an edited snapshot",
    name: "snapshot.jsonl",
    damage: edit("10.0.0.1", "10.0.0.9"),
    code: "N2I-E112",
  },
  { what: "a truncated plan", name: "plan.jsonl", damage: cut, code: "N2I-E111" },
  {
    what: "an empty plan",
    name: "plan.jsonl",
    damage: (path) => truncateSync(path, 0),
    code: "N2I-E111",
  },
  {
    what: "an edited plan",
    name: "plan.jsonl",
    damage: edit("10.0.0.1", "10.0.0.9"),
    code: "N2I-E112",
  },
  {
    what: "a plan with a line more",
    name: "plan.jsonl",
    damage: (path) => appendFileSync(path, "{}\n"),
    code: "N2I-E111",
  },
  { what: "a plan of another format", name: "plan.jsonl", damage: kind, code: "N2I-E113" },
  {
    what: "a file that is none of ours",
    name: "plan.jsonl",
    damage: (path) => writeFileSync(path, "hello\n"),
    code: "N2I-E113",
  },
];

for (const { what, name, damage, code } of DAMAGES)
  test(`${what} is refused by its name, and nothing is changed`, async (t) => {
    const made = await planned(t);
    damage(join(made.run, name));
    const [before, target] = [treeOf(made.run), await digest(made.ironic)];
    for (const reader of [...READERS[name], ...(code === "N2I-E112" ? ["verify"] : [])])
      await refused(commands(made)[reader] ?? [], 4, code, [new RegExp(name)]);
    const told = await runs(0, ["status", ...made.at, "-f", "json"]);
    assert.ok(told.out.includes(code), told.out);
    assert.deepEqual(treeOf(made.run), before);
    assert.equal(await digest(made.ironic), target);
  });

test("a snapshot that was taken again after the plan is refused by apply and verify", async (t) => {
  const made = await planned(t);
  const { apply = [], verify = [] } = commands(made);
  await made.bm.db("bm_nodes").where({ id: 2 }).update({ memory_mb: 1024 });
  await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
  const target = await digest(made.ironic);
  await refused(apply, 4, "N2I-E300", [/snapshot/]);
  await refused(verify, 4, "N2I-E114");
  assert.equal(await digest(made.ironic), target);
});

test("a key of another run, a key open to others, no key and a broken one are refused, and nothing is written", async (t) => {
  const made = await planned(t);
  const other = await planned(t);
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
  await all(/another run's key/);
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
    await refused([...words, "--key-file", theirs], 4, "N2I-E115", [/another run's key/]);
  assert.equal(await digest(made.ironic), target);
  await runs(0, [...apply, "--key-file", keep]);
  await runs(0, [...verify, "--key-file", keep]);
});
