import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { declare } from "../src/cli/options/declared.ts";
import { EXIT_STATUS } from "../src/lib/exit-status.ts";
import { SCHEDULE } from "../src/lib/ipmi/index.ts";
import { CHECK_STATUS } from "../src/model/check.ts";
import { packageRoot, program } from "../src/run/files/package-root.ts";
import { commandOf } from "./support/command-line.ts";

const BUILT = join(packageRoot(), "dist", "src");

/** Files and packages that are loaded with files: by their compiled form, which names no types. */
function loadedWith(...starts: readonly string[]) {
  const [files, packages] = [new Set<string>(), new Set<string>()];
  const visit = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    for (const name of staticImports(readFileSync(join(BUILT, file), "utf8")))
      if (name.startsWith(".")) visit(join(dirname(file), name));
      else if (!isBuiltin(name)) packages.add(name);
  };
  starts.forEach(visit);
  return { files: [...files].sort(), packages: [...packages].sort() };
}

function staticImports(text: string): readonly string[] {
  const statement = /^(?:import|export)\b(?:[^"';]*?\bfrom)?\s*"([^"]+)"/gm;
  return [...text.matchAll(statement)].map(([, name = ""]) => name);
}

test("--version loads the entry, what finds package.json, what would load the program, and tables of statuses", () => {
  const { files, packages } = loadedWith("cli/main.js");
  assert.deepEqual(
    [files, packages],
    [[...["cli/main.js", "lib/exit-status.js", "model/check.js", "run/files/package-root.js"]], []],
  );
});

test("help, completion and errors of the command line load no stage, no system and no driver", () => {
  const { files, packages } = loadedWith("cli/start.js");
  const elsewhere = files.filter((file) => !/^(cli|model|lib)\//.test(file));
  // Names of releases, which options offer; what stages are told;
  // the run's log, which words go along, and where paths begin.
  const known = [
    ...["run/files/load-tables.js", "run/files/manual.js"],
    ...["run/files/package-root.js", "run/next.js"],
    ...["run/process-context.js", "run/stages.js", "run/version.js"],
  ];
  assert.deepEqual([elsewhere, packages], [known, ["picocolors", "string-width", "yargs"]]);
});

test("status loads colours and widths alone of packages, and of the systems outside only the run's folder", () => {
  const { files, packages } = loadedWith(
    ...["cli/commands/runs.js", "window/runner/run-state.js", "window/runner/next-step.js"],
  );
  const systems = files.filter((file) => file.startsWith("systems/"));
  assert.deepEqual([systems, packages], [[], ["picocolors", "string-width"]]);
  assert.ok(!files.includes("migrate/open/documents.js"), "nor the mapping documents");
});

test("knex, the drivers and yaml are loaded when they are used", () => {
  const late = ["knex", "libsql", "mysql2", "pg", "pg-copy-streams", "yaml"];
  const texts = readdirSync(BUILT, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".js"))
    .map((name) => readFileSync(join(BUILT, name), "utf8"));
  const isLate = (name: string) => late.includes(name.split("/")[0] ?? "");
  assert.deepEqual(texts.flatMap(staticImports).filter(isLate), []);
});

test("a command that waits for what never comes ends as a bug, and says so", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "n2i-never-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const hook = join(folder, "hook.cjs");
  writeFileSync(
    hook,
    `require("node:fs/promises").readdir = () => new Promise(() => {});
     require("node:module").syncBuiltinESMExports();`,
  );
  const ends = (...words: readonly string[]) => {
    const all = ["--require", hook, program(), ...words];
    const { status, stderr } = spawnSync(process.execPath, all, { encoding: "utf8" });
    return { status, stderr };
  };
  const { status, stderr } = ends("status", "--run", folder);
  assert.equal(status, EXIT_STATUS.bug.status, stderr);
  assert.match(
    stderr,
    /^ERROR N2I-E900 the command is stuck: it is waiting, but no operation is in progress\.\n/,
  );
  assert.equal(ends("help", "runbook").status, 0);
});

test("an installation that lacks a file of the program or a package says which", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "n2i-half-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  copyFileSync(join(packageRoot(), "package.json"), join(folder, "package.json"));
  for (const name of loadedWith("cli/main.js").files) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    copyFileSync(join(BUILT, name), join(folder, name));
  }
  const start = join(folder, "cli", "start.js");
  const ends = (word: string, text?: string) => {
    if (text !== undefined) writeFileSync(start, text);
    const words = [join(folder, "cli", "main.js"), word];
    const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8" });
    return [status, stdout, stderr.replace(/ imported from .*/, "")];
  };
  const lacks = (name: string): string =>
    `ERROR The installation is incomplete: Cannot find ${name}\nFix: Install nova2ironic again.\n`;
  const { failed } = EXIT_STATUS;
  assert.deepEqual(ends("status"), [failed.status, "", lacks(`module '${start}'`)]);
  assert.deepEqual(ends("check"), [CHECK_STATUS.Error.status, "", lacks(`module '${start}'`)]);
  const needs = 'import "yargs";';
  assert.deepEqual(ends("status", needs), [failed.status, "", lacks("package 'yargs'")]);
  const begins = 'export const start = () => process.stdout.write("began");';
  assert.deepEqual(ends("status", begins), [0, "began", ""]);
});

test("power asks at the pace of our client unless told otherwise", async () => {
  const { default: yargs } = await import("yargs");
  const args = await declare(yargs(["--run", "m1"]), await commandOf("power")).parseAsync();
  const { inFlight, startsPerSecond, deadline } = SCHEDULE;
  const pace = [args.inFlight, args.rate, args.deadline];
  assert.deepEqual(pace, [inFlight, startsPerSecond, deadline / 1000]);
});
