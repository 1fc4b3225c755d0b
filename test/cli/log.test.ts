import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { pauseShorter } from "../../src/systems/openstack/passing.ts";
import { run, runs } from "../hostile/cli.ts";
import { deployFiles, extractAndPlan, privateFolder } from "../hostile/deployment.ts";
import { SMALL } from "../hostile/fleet.ts";
import { runHere } from "../support/in-process.ts";
import { listening } from "../support/listening.ts";

interface Line {
  readonly type: string;
  readonly command?: string;
  readonly text?: string;
  readonly code?: string;
  readonly status?: number;
}

function linesOf(folder: string): readonly Line[] {
  const text = readFileSync(join(folder, "log.jsonl"), "utf8");
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
}

test("a run keeps each command, what it said, what refused it and how it ended", async (t) => {
  const made = await deployFiles(t, SMALL);
  await extractAndPlan(made);
  await run(["rollback", ...made.at, ...made.writer, "--leave-nova"]);
  const lines = linesOf(made.run);
  const commands = lines.flatMap(({ command }) => (command === undefined ? [] : [command]));
  assert.deepEqual(
    commands.map((command) => command.split(" ").slice(0, 2).join(" ")),
    ["nova2ironic extract", "nova2ironic plan", "nova2ironic rollback"],
  );
  assert.ok(commands[0]?.includes(`--run ${made.run} --nova-bm-db file:`));
  assert.deepEqual(
    lines.flatMap(({ status }) => (status === undefined ? [] : [status])),
    [0, 0, 64],
  );
  // What --quiet keeps off the screen is kept here.
  assert.ok(lines.some(({ text }) => text?.includes("Next: nova2ironic ")));
  assert.deepEqual(
    lines.flatMap(({ code }) => (code === undefined ? [] : [code])),
    ["N2I-E305"],
  );
  assert.equal(statSync(join(made.run, "log.jsonl")).mode & 0o777, 0o600);
});

test("a password in an address that lacks its beginning is not written down", async (t) => {
  const made = await deployFiles(t, SMALL);
  await runs(0, ["extract", ...made.at, ...made.source]);
  await run(["extract", ...made.at, "--nova-bm-db", "nova:s3cr3t@db1/nova_bm"]);
  const file = join(made.folder, "nova2ironic.yaml");
  writeFileSync(file, "nova_bm_db: 'nova:a/s3cr3t:@x@db2/nova_bm'\n", { mode: 0o600 });
  await run(["extract", ...made.at, "--config", file]);
  const text = readFileSync(join(made.run, "log.jsonl"), "utf8");
  assert.match(text, /nova:\*\*\*@db2/);
  assert.match(text, /nova:\*\*\*@db1/);
  assert.doesNotMatch(text, /s3cr3t/);
});

test("no folder but a run of this user's gets a log", async (t) => {
  const folder = privateFolder(t);
  const made = await deployFiles(t, SMALL);
  for (const [name, mode] of [
    ["not a run", 0o700],
    ["open", 0o755],
  ] as const) {
    const other = join(folder, name);
    mkdirSync(other);
    if (name === "open") writeFileSync(join(other, "snapshot.jsonl"), "");
    chmodSync(other, mode);
    await run(["status", "--run", other]);
    assert.equal(existsSync(join(other, "log.jsonl")), false, name);
  }
  await runs(0, ["extract", ...made.at, ...made.source]);
  const mine = join(folder, "mine");
  writeFileSync(mine, "mine");
  const linked = join(folder, "linked");
  mkdirSync(linked, { mode: 0o700 });
  writeFileSync(join(linked, "snapshot.jsonl"), "");
  symlinkSync(mine, join(linked, "log.jsonl"));
  await run(["status", "--run", linked]);
  assert.equal(readFileSync(mine, "utf8"), "mine");
});

test("a log that cannot be written stops nothing", async (t) => {
  const made = await deployFiles(t, SMALL);
  await runs(0, ["extract", ...made.at, ...made.source]);
  const log = join(made.run, "log.jsonl");
  // A folder where the file should be: no user, not even root, can write to it.
  rmSync(log);
  mkdirSync(log);
  await runs(0, ["status", ...made.at]);
});

test("while a service does not answer its login, it is said what is waited for", async (t) => {
  const made = await deployFiles(t, SMALL);
  await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
  pauseShorter(0);
  t.after(() => pauseShorter(1));
  // What is silent for two seconds is said at once.
  const { setTimeout: later } = globalThis;
  t.mock.method(globalThis, "setTimeout", ((work: () => void, ms: number) =>
    later(work, ms === 2000 ? 0 : ms)) as typeof setTimeout);
  const SAID = /^Still logging in and reading the version of Ironic: 0 s so far\.$/m;
  let said = (): void => undefined;
  const heard = new Promise<void>((resolve) => {
    said = resolve;
  });
  const url = await listening(
    t,
    createServer((_, answer) => void heard.then(() => answer.writeHead(503).end())),
  );
  const words = ["plan", ...made.at, "--ironic-url", url];
  const { status, err } = await runHere(
    words,
    { OS_AUTH_TYPE: "none" },
    { heard: (text) => SAID.test(text) && said() },
  );
  assert.match(err, SAID);
  assert.equal(status, 1, err);
});
