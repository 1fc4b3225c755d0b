import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { writeCase } from "../src/demo/write-case.ts";
import { EXIT_STATUS } from "../src/lib/exit-status.ts";
import { packageRoot } from "../src/run/files/package-root.ts";
import { fleet } from "./support/fleet.ts";
import { pageNames } from "./support/manual.ts";
import { unpack } from "./support/packed.ts";

const folder = mkdtempSync(join(tmpdir(), "n2i-pack-"));
/** The package as it is unpacked elsewhere. */
const home = join(folder, "elsewhere", "node_modules", "nova2ironic");
after(() => rmSync(folder, { recursive: true, force: true }));

before(() => unpack(folder, home));

test("the packed package runs the demo outside the clone", () => {
  installDependencies();
  const demo = spawnSync(process.execPath, [join(home, ".build/bundle/nova2ironic.js"), "demo"], {
    cwd: folder,
    encoding: "utf8",
  });
  assert.equal(demo.status, 0, demo.stdout + demo.stderr);
  assert.match(demo.stdout, /yes {2}after rollback Ironic is what it was, by digest/);
});

test("the packed package traces a bug to src, also without what was compiled of it", () => {
  const bug = join(folder, "bug.cjs");
  writeFileSync(
    bug,
    `const files = require("node:fs");
     const read = files.readFileSync;
     files.readFileSync = (path, ...how) => {
       if (String(path).endsWith("runbook.md")) throw new TypeError("a bug");
       return read(path, ...how);
     };`,
  );
  const bundle = join(home, ".build", "bundle");
  const words = ["--require", bug, join(bundle, "nova2ironic.js"), "help", "runbook"];
  const traced = (): void => {
    const { status, stderr } = spawnSync(process.execPath, words, { encoding: "utf8" });
    assert.equal(status, EXIT_STATUS.bug.status, stderr);
    assert.match(stderr, /^ {4}at manualPage \(src\/run\/files\/manual\.ts:\d+:\d+\)$/m);
    assert.doesNotMatch(stderr, /program\.js/);
    assert.ok(!stderr.includes(home), stderr);
  };
  traced();
  // Of the Node that built it, whichever runs it here.
  const compiled = readdirSync(bundle).filter((name) => /\.js\.v\d/.test(name));
  assert.equal(compiled.length, 2);
  for (const name of compiled) rmSync(join(bundle, name));
  traced();
});

test("the package hands on the licence of each package that is in it", () => {
  const bundle = join(packageRoot(), ".build", "bundle");
  const folders = new Set<string>();
  for (const name of readdirSync(bundle).filter((file) => file.endsWith(".js.map"))) {
    const { sources } = JSON.parse(readFileSync(join(bundle, name), "utf8")) as {
      readonly sources: readonly string[];
    };
    for (const source of sources) {
      const inside = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(source)?.[0];
      if (inside !== undefined) folders.add(join(bundle, inside));
    }
  }
  const notices = readFileSync(join(home, ".build/bundle/LICENCES.txt"), "utf8").split(
    `\n${"-".repeat(80)}\n`,
  );
  const named = [...folders].map((folder) => {
    const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      readonly [key: string]: string;
    };
    return `${name} ${version}\n`;
  });
  assert.ok(named.some((head) => head.startsWith("pg ")));
  const lacking = named.filter((head) => !notices.some((notice) => notice.startsWith(head)));
  const empty = notices.filter((notice) => !/copyright/i.test(notice));
  assert.deepEqual([lacking, empty], [[], []]);
});

test("a mapping document that was edited is checked when it is read, and told where it is wrong", async () => {
  const work = join(folder, "edited");
  const { extract, ironic, plan } = await writeCase(fleet(1), work);
  const run = ["--run", join(work, "run")];
  const tool = (...words: readonly string[]) =>
    spawnSync(process.execPath, [join(home, ".build/bundle/nova2ironic.js"), ...words], {
      cwd: folder,
      encoding: "utf8",
    });
  assert.equal(tool("extract", ...run, ...extract).status, 0);
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
  const help = spawnSync(
    process.execPath,
    [join(home, ".build/bundle/nova2ironic.js"), "help", "runbook"],
    { cwd: folder, encoding: "utf8" },
  );
  assert.match(help.stdout, /^# Runbook\n/);
});

test("no more of the package can be imported than the library", () => {
  const source = `
    const names = ["nova2ironic", "nova2ironic/ipmi/wire", "nova2ironic/.build/src/lib/ipmi/wire.js"];
    for (const name of names)
      await import(name).then(() => console.log(name), ({ code }) => console.log(code));`;
  const ran = spawnSync(process.execPath, ["--input-type=module", "-e", source], {
    cwd: join(folder, "elsewhere"),
    encoding: "utf8",
  });
  assert.deepEqual(
    ran.stdout.trimEnd().split("\n"),
    Array(3).fill("ERR_PACKAGE_PATH_NOT_EXPORTED"),
  );
});

/** What npm installs beside the package, and nothing that only builds or tests it. */
function installDependencies(): void {
  const { dependencies } = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as {
    readonly dependencies: { readonly [name: string]: string };
  };
  mkdirSync(join(home, "node_modules"));
  for (const name of Object.keys(dependencies))
    symlinkSync(join(packageRoot(), "node_modules", name), join(home, "node_modules", name));
}
