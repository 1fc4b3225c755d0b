import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import * as nodeModule from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { EXIT_STATUS } from "../src/lib/exit-status.ts";
import { writeCase } from "./cases/write-case.ts";
import { runs } from "./hostile/cli.ts";
import { fleet } from "./support/fleet.ts";
import { pageNames } from "./support/manual.ts";
import { unpack } from "./support/packed.ts";

const folder = mkdtempSync(join(tmpdir(), "n2i-pack-"));
/** The package as it is unpacked elsewhere. */
const home = join(folder, "elsewhere", "node_modules", "nova2ironic");
const MAIN = join(home, "dist/src/cli/main.js");
after(() => rmSync(folder, { recursive: true, force: true }));

before(() => unpack(folder, home));

test("the packed package traces a bug to a file of the program", () => {
  const bug = join(folder, "bug.cjs");
  writeFileSync(
    bug,
    `const files = require("node:fs");
     const read = files.readFileSync;
     files.readFileSync = (path, ...how) => {
       if (String(path).endsWith("runbook.md")) throw new TypeError("a bug");
       return read(path, ...how);
     };
     require("node:module").syncBuiltinESMExports();`,
  );
  const words = ["--require", bug, MAIN, "help", "runbook"];
  const { status, stderr } = spawnSync(process.execPath, words, { encoding: "utf8" });
  assert.equal(status, EXIT_STATUS.bug.status, stderr);
  assert.match(stderr, /^ {4}at manualPage \(src\/run\/files\/manual\.js:\d+:\d+\)$/m);
  assert.ok(!stderr.includes(home), stderr);
  const isCached = "enableCompileCache" in nodeModule;
  const hasCache = existsSync(join(home, "dist", "cache"));
  assert.equal(hasCache, isCached, "what V8 compiled, from Node 22 on");
});

test("a mapping document that was edited is checked when it is read, and told where it is wrong", async () => {
  const work = join(folder, "edited");
  const { extract, ironic, plan } = await writeCase(fleet(1), work);
  const run = ["--run", join(work, "run")];
  await runs(0, ["extract", ...run, ...extract]);
  const tool = (...words: readonly string[]) =>
    spawnSync(process.execPath, [MAIN, ...words], { cwd: folder, encoding: "utf8" });
  const rules = join(home, "mappings", "rules.json");
  const before = readFileSync(rules, "utf8");
  try {
    writeFileSync(rules, before.replace('"to": "uuid"', '"too": "uuid"'));
    const { status, stderr } = tool("plan", ...run, ...ironic, ...plan);
    assert.match(stderr, /N2I-E103 mappings\/rules\.json: \/node\/\d+ lacks to/);
    assert.equal(status, EXIT_STATUS.usage.status);
    // Another digest, and nothing wrong.
    writeFileSync(rules, `${before}\n`);
    assert.equal(tool("plan", ...run, ...ironic, ...plan).status, 0);
  } finally {
    writeFileSync(rules, before);
  }
});

test("the package has its dependencies, and of libsql one binary", () => {
  const { dependencies } = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as {
    readonly dependencies: object;
  };
  // CI has npm look for those that are missing.
  const found = readdirSync(join(home, "node_modules"));
  const missing = Object.keys(dependencies).filter((name) => !found.includes(name));
  assert.deepEqual(missing, []);
  assert.equal(readdirSync(join(home, "node_modules", "@libsql")).length, 1);
});

test("of pages the package has those that its users read", () => {
  const pages = readdirSync(home, { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".md") && !name.includes("node_modules"),
  );
  const manual = pageNames().map((name) => `src/manual/${name}.md`);
  assert.deepEqual(
    pages.sort(),
    [
      ...["CHANGELOG.md", "README.md", "mappings/README.md", "src/lib/ipmi/README.md"],
      ...manual,
    ].sort(),
  );
  const help = spawnSync(process.execPath, [MAIN, "help", "runbook"], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.match(help.stdout, /^# Runbook\n/);
});

test("no more of the package can be imported than the library", () => {
  const source = `
    const names = ["nova2ironic", "nova2ironic/ipmi/wire", "nova2ironic/dist/src/lib/ipmi/wire.js"];
    for (const name of names)
      await import(name).then(() => console.log(name), ({ code }) => console.log(code));`;
  const ran = spawnSync(process.execPath, ["--input-type=module", "-e", source], {
    cwd: join(folder, "elsewhere"),
    encoding: "utf8",
  });
  const codes = ran.stdout.trimEnd().split("\n");
  assert.deepEqual(codes, Array(3).fill("ERR_PACKAGE_PATH_NOT_EXPORTED"));
});
