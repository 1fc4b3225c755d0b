import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { test } from "node:test";
import { completions } from "../../src/cli/completion.ts";
import { columnsOf } from "../../src/report/columns.ts";
import { assertRefusal, MAIN, run, runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";

test("completion offers codes as they are being written, topics, columns and folders of runs", async (t) => {
  const folder = privateFolder(t);
  for (const name of ["m1", "m2", "other"]) mkdirSync(join(folder, name));
  for (const name of ["m1", "m2"]) writeFileSync(join(folder, name, "log.jsonl"), "");
  const at = (...words: readonly string[]) => completions(["nova2ironic", ...words], folder);
  assert.deepEqual(await at("apply", "--run", ""), ["m1", "m2"]);
  assert.deepEqual(await at("apply", "--run", `${folder}/m`), [`${folder}/m1`, `${folder}/m2`]);
  assert.deepEqual(await at("apply", "--run", "nowhere/"), []);
  assert.deepEqual(await at("explain", "d601"), ["d601"]);
  assert.deepEqual(await at("explain", "e300", "N2I-D601"), ["N2I-D601"]);
  assert.deepEqual(await at("explain", "runb"), ["runbook"]);
  assert.deepEqual(await at("help", "hand"), ["handover", "hand-over"]);
  assert.deepEqual(await at("show", "m1/plan", "-c", "Ser"), ["Service Host"]);
  // Yargs knows these.
  for (const words of [["apply", "--st"], ["app"], ["show", "m1", "-f", ""]])
    assert.equal(await at(...words), null);
});

test("each command that lists has columns to offer, and they are those it takes", async () => {
  for (const command of ["show", "power", "verify", "rollback", "finish", "boot", "config"])
    assert.ok(columnsOf(command).length > 2, command);
  const [first = "", ...more] = columnsOf("explain").flatMap((name) => ["-c", name]);
  await runs(0, ["explain", first, ...more, "-f", "csv"]);
  assert.deepEqual(columnsOf("demo"), []);
});

test("each shell has a script, and another is refused", async () => {
  for (const shell of ["bash", "zsh", "fish"])
    assert.match(
      (await runs(0, ["completion", shell])).out,
      new RegExp(`SHELL=${shell} nova2ironic`),
    );
  assertRefusal(await run(["completion", "cmd"]), 64, "N2I-E100", /no completion for "cmd"/);
});

test("bash completes words with its script, spaces in them too", async (t) => {
  const folder = privateFolder(t);
  const { out } = await runs(0, ["completion", "bash"]);
  writeFileSync(join(folder, "script"), out);
  const program = `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`;
  writeFileSync(join(folder, "nova2ironic"), program, { mode: 0o755 });
  const asking = `source ./script; COMP_WORDS=(nova2ironic show m1/plan -c Ser); COMP_CWORD=4; _nova2ironic; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const bash = spawnSync("bash", ["-c", asking], {
    cwd: folder,
    env: { PATH: [folder, process.env.PATH, dirname(process.execPath)].join(delimiter) },
    encoding: "utf8",
  });
  assert.equal(bash.stdout, '"Service Host"\n', bash.stderr);
});
