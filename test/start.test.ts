import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
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
import { compiledOf, loadedFiles, loadProgram, sealed } from "../src/cli/load-program.ts";
import { declare } from "../src/cli/options/declared.ts";
import { writeCase } from "../src/demo/write-case.ts";
import { EXIT_STATUS } from "../src/lib/exit-status.ts";
import { SCHEDULE } from "../src/lib/ipmi/index.ts";
import { CHECK_STATUS } from "../src/model/check.ts";
import { packageRoot, program } from "../src/run/files/package-root.ts";
import { commandOf } from "./support/command-line.ts";
import { fleet } from "./support/fleet.ts";

const BUILT = join(packageRoot(), ".build", "src");

/** Files and packages that are loaded with a file: by its compiled form, which names no types. */
function loadedWith(start: string): {
  readonly files: readonly string[];
  readonly packages: readonly string[];
} {
  const [files, packages] = [new Set<string>(), new Set<string>()];
  const visit = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    for (const name of staticImports(readFileSync(join(BUILT, file), "utf8")))
      if (name.startsWith(".")) visit(join(dirname(file), name));
      else if (!isBuiltin(name)) packages.add(name);
  };
  visit(start);
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
    [
      [
        ...["cli/load-program.js", "cli/main.js", "lib/exit-status.js", "model/check.js"],
        "run/files/package-root.js",
      ],
      [],
    ],
  );
});

test("help, completion and errors of the command line load no stage, no system and no driver", () => {
  const { files, packages } = loadedWith("cli/start.js");
  const elsewhere = files.filter((file) => !/^(cli|model|lib)\//.test(file));
  // Names of releases, which options offer; how long a database is waited for; what stages are told;
  // the run's log, which words go along, and where paths begin.
  const known = [
    ...["run/files/load-tables.js", "run/files/manual.js", "run/files/package-root.js"],
    ...["run/next.js", "run/paths.js", "run/patience.js"],
    ...["run/process-context.js", "run/stages.js", "run/version.js", "systems/database/limit.js"],
  ];
  assert.deepEqual([elsewhere, packages], [known, ["picocolors", "yargs"]]);
});

test("status loads colours alone of packages, and of the systems outside only the run's folder", () => {
  const { files, packages } = loadedWith("cli/kinds/migration.js");
  const systems = files.filter((file) => file.startsWith("systems/"));
  assert.deepEqual([systems, packages], [[], ["picocolors"]]);
  assert.ok(!files.includes("migrate/open/documents.js"), "nor the mapping documents");
});

test("knex, the drivers and yaml are loaded when they are used", () => {
  const late = ["knex", "libsql", "mysql2", "pg", "pg-copy-streams", "yaml"];
  const texts = readdirSync(BUILT, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".js"))
    .map((name) => readFileSync(join(BUILT, name), "utf8"));
  const isLate = (name: string) => late.includes(name.split("/")[0] ?? "");
  assert.deepEqual(texts.flatMap(staticImports).filter(isLate), []);
  const required = texts.flatMap((text) =>
    [...text.matchAll(/\brequire\("([^"]+)"\)/g)].map(([, name = ""]) => name),
  );
  // Each is in packages.js, or installed.
  const { dependencies } = JSON.parse(
    readFileSync(join(packageRoot(), "package.json"), "utf8"),
  ) as { readonly dependencies: { readonly [name: string]: string } };
  const bundled = Object.keys(
    loadProgram<object>(join(packageRoot(), ".build", "bundle", "packages.js")),
  );
  const known = [...bundled, ...Object.keys(dependencies)];
  assert.ok(required.includes("knex"));
  assert.deepEqual(
    required.filter((name) => !known.includes(name)),
    [],
  );
});

test("the bundle is of ASCII alone: bytes are read as letters", () => {
  const bundle = dirname(program());
  for (const name of readdirSync(bundle).filter((file) => file.endsWith(".js")))
    assert.equal(
      /[^\0-\x7f]/.exec(readFileSync(join(bundle, name), "latin1"))?.[0],
      undefined,
      name,
    );
});

test("V8 takes what was compiled of the bundle in commands that open databases", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "n2i-compiled-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const { extract, ironic } = await writeCase(fleet(1), folder);
  const nova = extract.slice(extract.indexOf("--nova-db")).slice(0, 2);
  const hook = join(folder, "hook.cjs");
  writeFileSync(
    hook,
    `const vm = require("node:vm");
     const { Script } = vm;
     vm.Script = class extends Script {
       constructor(text, how) {
         super(text, how);
         process.stderr.write(how.filename + " refused: " + this.cachedDataRejected + "\\n");
       }
     };
     require("node:module").syncBuiltinESMExports();`,
  );
  for (const [status, ...words] of [
    [0, "extract", "--run", join(folder, "run"), ...extract],
    [4, "node", "list", "--adoptable", ...ironic], // a sample's Ironic is open, and too old
    [0, "host", "plan", "--run", join(folder, "host"), "--from", "a", "--to", "b", ...nova],
  ] as const) {
    const all = ["--require", hook, program(), ...words];
    const ran = spawnSync(process.execPath, all, { encoding: "utf8" });
    assert.equal(ran.status, status, ran.stderr);
    const taken = ["program", "packages"].map((name) => `bundle/${name}.js refused: false`);
    assert.deepEqual(ran.stderr.match(/^bundle.*/gm), taken, words.join(" "));
  }
});

test("what was compiled is taken as it was written, for the file as it was", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "n2i-sealed-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  let files = 0;
  const loads = (text: string, kept?: Buffer) => {
    files += 1;
    const file = join(folder, `${files}.js`);
    writeFileSync(file, text);
    if (kept !== undefined) writeFileSync(compiledOf(file), kept);
    const { said } = loadProgram<{ readonly said: string }>(file);
    const { script } = loadedFiles().get(file) ?? assert.fail(file);
    return { said, script, refused: script.cachedDataRejected };
  };
  const text = '(function(exports){exports.said="one"})';
  const { script } = loads(text);
  const kept = sealed(Buffer.from(text), script.createCachedData());
  const takes = (source: string, bytes: Buffer) => {
    const { said, refused } = loads(source, bytes);
    return [said, refused];
  };
  assert.deepEqual(takes(text, kept), ["one", false]);
  for (let at = 0; at < kept.length; at += 1) {
    const damaged = Buffer.from(kept);
    damaged.writeUInt8(damaged.readUInt8(at) ^ (1 << (at % 8)), at);
    assert.deepEqual(takes(text, damaged), ["one", undefined], `byte ${at}`);
  }
  for (const length of [0, 31, 32, kept.length - 1])
    assert.deepEqual(takes(text, kept.subarray(0, length)), ["one", undefined]);
  assert.deepEqual(takes(text.replace("one", "two"), kept), ["two", undefined]);
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
    /^ERROR N2I-E900 the command is stuck: nothing that it waits for can still happen\.\n/,
  );
  assert.equal(ends("help", "runbook").status, 0);
});

test("a package that lacks a file of the program says which, before anything begins", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "n2i-half-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ["nova2ironic.js", "package.json"])
    copyFileSync(join(dirname(program()), name), join(folder, name));
  const says = (word: string) => {
    const words = [join(folder, "nova2ironic.js"), word];
    const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: "utf8" });
    return [status, stdout, stderr];
  };
  const lacks = (name: string): string =>
    `ERROR The installation is incomplete: ${join(folder, name)} is missing.\nFix: Install nova2ironic again.\n`;
  assert.deepEqual(says("status"), [EXIT_STATUS.failed.status, "", lacks("program.js")]);
  writeFileSync(
    join(folder, "program.js"),
    '(function(exports){exports.start=async()=>{process.stdout.write("began")}})',
  );
  assert.deepEqual(says("status"), [EXIT_STATUS.failed.status, "", lacks("packages.js")]);
  assert.deepEqual(says("check"), [CHECK_STATUS.Error.status, "", lacks("packages.js")]);
  writeFileSync(join(folder, "packages.js"), "");
  assert.deepEqual(says("status"), [0, "began", ""]);
});

test("power asks at the pace of our client unless told otherwise", async () => {
  const { default: yargs } = await import("yargs");
  const args = await declare(yargs(["--run", "m1"]), await commandOf("power")).parseAsync();
  const { inFlight, startsPerSecond, deadline } = SCHEDULE;
  assert.deepEqual(
    [args.inFlight, args.rate, args.deadline],
    [inFlight, startsPerSecond, deadline / 1000],
  );
});
