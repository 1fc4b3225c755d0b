import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";

/** A file imports its own folder of src and the layers before it. Folders of one layer do not import each other. */
const LAYERS: readonly (readonly string[])[] = [
  ["lib"],
  ["model"],
  ["engine", "systems"],
  ["run"],
  ["serving"],
  ["migrate"],
  ["window", "takeover", "switchover", "manage", "proxy"],
  ["demo"],
  ["cli"],
];

/** Lines of TypeScript at most, by folder of src. They may only fall; the target is 65,000 in all. */
const CEILINGS: Readonly<Record<string, number>> = {
  cli: 5834,
  demo: 206,
  engine: 1392,
  lib: 5274,
  manage: 4278,
  migrate: 10747,
  model: 4897,
  proxy: 557,
  run: 3827,
  serving: 1197,
  switchover: 3971,
  systems: 13702,
  takeover: 6209,
  window: 8468,
};

/** Names that src exports at most. The number may only fall; the target is 2,000. */
const EXPORTED = 2400;

/**
 * Refusals of a command line (N2I-E100) in src at most, outside the declarations of options. The number may only fall:
 * a range, a form, an exclusion or a requirement belongs to the option (cli/options/declared.ts).
 */
const USAGE = 41;

/** Words with no meaning outside this project. Identifiers of src have none of them. */
const PRIVATE_WORDS =
  /^(?:words|place|asked|why|lefts?|known|own|wanted|named|seen|word|held|hold|given|said|begun|kept|whole|there|shown|way|walk|far|sofar|looked|met|twice|aside|goes|came|became|sight|book|others|hands|gone|told|ours|stands?|standing|beside|tell|say|stays|leaves?|world|still|patience|wants|needs|surroundings|behind|together|strangers?|keeper|nobody|takers|cards|spoken|ahead|fits|reach|lacks|objections|hindrances|bring|dark|look(?:s|ing|ers?)?|strange|says|tells|telling|untold|places|ways|want|wanting|unasked|lacking|lack|leaving|walking|holding|fitting)$/;
/** Exceptions: identifiers that contain one of these words. The list may only shrink. */
const NAMED_ELSEWHERE: readonly string[] = [
  // Names of JavaScript, Ironic and Nova, and texts of yargs and OpenSSH.
  ...["hasOwn", "is_whole_disk_image", "last_seen_up", "Given", "known"],
  // The operands of a comparison.
  "left",
  // The option --leave-nova.
  ...["leaveNova", "leave_nova"],
  // Keys of plans, journals and the other files of a run.
  ...["asked", "asked_at", "asked_by", "asked_for", "begun", "gone", "held", "hold", "looked_at"],
  ...["others", "own_host", "place", "words"],
  // Keys of JSON output, and a column of a table.
  ...["ironics_own", "leave", "left_out", "there", "wanted", "Why"],
  // Keys of the mappings.
  ...["needs", "say", "seen", "why"],
];

/**
 * Files of src with more than 300 lines. The list may only shrink, and so may the files. Each is one exchange or one
 * table.
 */
const LONG: Readonly<Record<string, number>> = {
  "src/lib/ipmi/policy.ts": 356,
  "src/lib/ipmi/session.ts": 330,
};

/** Packages that a folder may import besides Node's own; no row: none. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  lib: ["picocolors", "string-width", "yaml"],
  model: ["ajv"],
  systems: ["knex", "pg", "pg-copy-streams", "libsql", "yaml"],
  run: ["ajv", "yaml"],
  serving: ["yaml"],
  migrate: ["ajv", "diff", "knex"],
  window: ["diff"],
  cli: ["yargs", "listr2"],
};

const EXPORT = /^export (?:async )?(?:function\*?|const|let|class|interface|type)\s+(\w+)/gm;
const SOURCES = typescript("src");
const ALL = [...SOURCES, ...typescript("test"), ...typescript("grenade")];

test("a file imports its own folder and the layers before it", () => {
  const against = SOURCES.flatMap((file) =>
    targetsOf(file)
      .filter((other) => layerOf(other) >= layerOf(file) && folderOf(other) !== folderOf(file))
      .map((other) => `${file} -> ${other}`),
  );
  assert.deepEqual(against, []);
});

test("a file imports the packages of its folder alone", () => {
  const wrong = SOURCES.flatMap((file) => {
    const packages = PACKAGES[folderOf(file)] ?? [];
    return importsOf(file)
      .filter((name) => !isRelative(name) && !name.startsWith("node:"))
      .filter((name) => !packages.some((one) => name === one || name.startsWith(`${one}/`)))
      .map((name) => `${file} imports ${name}`);
  });
  assert.deepEqual(wrong, []);
});

test("the IPMI library imports Node alone, and is known by its index alone", () => {
  const inside = (file: string): boolean => file.startsWith("src/lib/ipmi/");
  for (const file of SOURCES)
    for (const other of targetsOf(file))
      if (inside(file)) assert.ok(inside(other), `${file} imports ${other}`);
      else assert.ok(!inside(other) || other.endsWith("/index.ts"), `${file} imports ${other}`);
});

test("rules import lib, model and rules alone", () => {
  const wrong = SOURCES.filter(isPure).flatMap((file) =>
    targetsOf(file)
      .filter((other) => layerOf(other) > 1 && !isPure(other))
      .map((other) => `${file} -> ${other}`),
  );
  assert.deepEqual(wrong, []);
});

test("no file imports itself by way of others, types included", () => {
  const state = new Map<string, "open" | "closed">();
  const cycles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (state.get(file) === "open") cycles.push([...path, file].join(" -> "));
    if (state.has(file)) return;
    state.set(file, "open");
    const next = targetsOf(file);
    // A text of a test may hold the program of another process; that is no import of this file.
    for (const other of next.filter((name) => ALL.includes(name))) visit(other, [...path, file]);
    state.set(file, "closed");
  };
  for (const file of ALL) visit(file, []);
  assert.deepEqual(cycles, []);
});

test("a text with a number before a noun is right for one", () => {
  // Scripts read two lines of a plan's summary.
  const texts = SOURCES.filter((file) => file !== "src/migrate/plan/rules/summary.ts");
  const plural =
    /\$\{(?![A-Z_ /\d]+\})[^{}]+\} (?:staged |more |compute )?(?:machines|rows|instances|nodes|ports|hosts|fields|batches|images|flavors|faults|logs(?! in)|services|volumes|spares|minutes)\b/;
  const wrong = texts.flatMap(
    (file) => plural.exec(read(file))?.map((text) => `${file}: ${text}`) ?? [],
  );
  assert.deepEqual(wrong, []);
});

test("rules and views read no clock, no randomness and no process", () => {
  const impure =
    /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bprocess\b|\bset(Timeout|Interval)\b/;
  const pure = SOURCES.filter((file) => isPure(file) || /\/(views|table)\//.test(file));
  assert.deepEqual(found(pure, impure), []);
});

test("a command has its streams, words, variables and signals from who runs it", () => {
  const own = [
    "cli/main.ts",
    "run/failpoint.ts",
    "run/process-context.ts",
    "run/files/package-root.ts",
  ].map((name) => `src/${name}`);
  const others = SOURCES.filter(
    (file) => !/^src\/(lib|systems|demo)\//.test(file) && !own.includes(file),
  );
  const named = /\bprocess\.(std(in|out|err)|exit(Code)?|argv|env|cwd|umask|on|once|off|emit)\b/;
  assert.deepEqual(found(others, named), []);
});

test("a file of under 20 lines has a reason", () => {
  const reasons = [
    // Each is loaded alone, when its command is called, completed or asked for help.
    /^src\/cli\/(commands\/|options\/)/,
    // Pieces of the page's script, whose DOM has types of its own.
    /^src\/window\/report\/browser\//,
    // The door of a library; what answers --version before anything else is loaded.
    /\/index\.ts$|^src\/cli\/main\.ts$/,
    // Loaded at once by what does not load its neighbours: views, the manual, retire's own work.
    /^src\/(run\/(version|retired|files\/manual))\.ts$/,
  ];
  const short = SOURCES.filter((file) => linesOf(file) < 20);
  const unexplained = short.filter((file) => !reasons.some((reason) => reason.test(file)));
  assert.deepEqual(unexplained, []);
});

test("no file of src is longer than 300 lines, no other than 400", () => {
  const long = ALL.map((file) => [file, linesOf(file)] as const).filter(
    ([file, lines]) => lines > (SOURCES.includes(file) ? (LONG[file] ?? 300) : 400),
  );
  assert.deepEqual(long, []);
  const short = Object.keys(LONG).filter((file) => !SOURCES.includes(file) || linesOf(file) <= 300);
  assert.deepEqual(short, []);
});

test("no folder of src has more than 25 files", () => {
  const full = [...new Set(SOURCES.map(dirname))].filter(
    (folder) => SOURCES.filter((file) => dirname(file) === folder).length > 25,
  );
  assert.deepEqual(full, []);
});

test("no folder of src has more lines than its ceiling", () => {
  const lines = new Map(Object.keys(CEILINGS).map((folder) => [folder, 0]));
  for (const file of SOURCES)
    lines.set(folderOf(file), (lines.get(folderOf(file)) ?? 0) + linesOf(file));
  const over = [...lines].filter(([folder, count]) => count > (CEILINGS[folder] ?? 0));
  assert.deepEqual(over, []);
});

test("src exports no more names than before", () => {
  const names = SOURCES.flatMap((file) => [...read(file).matchAll(EXPORT)]);
  assert.ok(names.length <= EXPORTED, String(names.length));
});

test("no identifier of src has a private word", () => {
  const identifiers = new Set(SOURCES.flatMap((file) => code(file).match(/\b[A-Za-z]\w*/g) ?? []));
  const isPrivate = (name: string): boolean =>
    name.split(/(?<=[a-z\d])(?=[A-Z])|_/).some((word) => PRIVATE_WORDS.test(word.toLowerCase()));
  const found = [...identifiers].filter(isPrivate);
  assert.deepEqual(found.toSorted(), NAMED_ELSEWHERE.toSorted());
});

test("a command line is checked by the declarations of options", () => {
  const sites = SOURCES.filter((file) => file !== "src/lib/refusals.ts").flatMap((file) =>
    [...read(file).matchAll(/"N2I-E100"/g)].map(() => file),
  );
  assert.ok(sites.length <= USAGE, `${sites.length}: ${sites.join(", ")}`);
});

test("nothing is nested deeper than four", () => {
  const control = /^(?:\} )?(?:if|else|for|while|do|switch|case|default|try|catch|finally)\b/;
  const deep = SOURCES.flatMap((file) => {
    /** Columns at which what is open here began: the formatter indents what stands inside. */
    let open: number[] = [];
    return read(file)
      .split("\n")
      .flatMap((line, at) => {
        const column = line.search(/\S/);
        if (column < 0) return [];
        open = open.filter((other) => other < column);
        if (control.test(line.trim())) open.push(column);
        return open.length > 4 ? [`${file}:${at + 1}`] : [];
      });
  });
  assert.deepEqual(deep, []);
});

test("what a file exports is used by another", () => {
  // What the IPMI library exports is its users' to use; its index lists it.
  const users = [...ALL, ".ci/build.js"].map((file) => ({
    file,
    words: new Set(read(file).match(/\w+/g)),
  }));
  const idle = SOURCES.flatMap((file) =>
    [...read(file).matchAll(EXPORT)]
      .map(([, name = ""]) => name)
      .filter((name) => !users.some((user) => user.file !== file && user.words.has(name)))
      .map((name) => `${file}: ${name}`),
  );
  assert.deepEqual(idle, []);
});

test("no name of a type is exported by two files", () => {
  const homes = new Map<string, string[]>();
  for (const file of SOURCES)
    for (const [, name = ""] of read(file).matchAll(/^export (?:interface|type) (\w+)/gm))
      homes.set(name, [...(homes.get(name) ?? []), file]);
  const shared = [...homes].filter(([, files]) => files.length > 1);
  assert.deepEqual(shared, []);
});

test("nothing has the type any, and nothing prints past the streams", () => {
  assert.deepEqual(found(ALL, /[:<|&=]\s*any\b\s*(\[|[;,)>|&={]|$)|,\s*any\s*>|\bas\s+any\b/m), []);
  assert.deepEqual(found(ALL, /\bconsole\s*\.\s*\w/), []);
});

test("nothing is left to do in a comment", () => {
  const marks = new RegExp(`\\b(${["TO", "FIX"].join("DO|")}ME)\\b`);
  assert.ok(marks.test(["TO", "DO"].join("")) && marks.test(["FIX", "ME"].join("")));
  const marked = ALL.filter((file) => marks.test(read(file)));
  assert.deepEqual(marked, []);
});

test("no file names a path of one machine", () => {
  // Put together here, so that this file does not match itself.
  const [work, farm] = [["wo", "rk"].join(""), ["fa", "rm"].join("")];
  const machine = new RegExp(
    `(?<![\\w.~})\\]-])/(${work}|${farm})(?![\\w-])|/tmp/[\\w.-]*-${["re", "search"].join("")}`,
  );
  const folders = ["src", "mappings", "fixtures", "grenade", "test", ".ci"];
  const files = [".", ...folders].flatMap((folder) =>
    readdirSync(folder, { recursive: folder !== ".", withFileTypes: true })
      // In a linked work tree .git is a file, which names the repository's folder.
      .filter((one) => one.isFile() && one.name !== ".git")
      .map((one) => join(one.parentPath, one.name)),
  );
  const found = files.filter((file) => machine.test(read(file)));
  assert.deepEqual(found, []);
});

function typescript(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${folder}/${name}`)
    .sort();
}

function read(file: string): string {
  return readFileSync(file, "utf8");
}

/** The files whose code, without its comments and texts, has the pattern. */
function found(files: readonly string[], pattern: RegExp): readonly string[] {
  return files.filter((file) => pattern.test(code(file)));
}

function code(file: string): string {
  const passive =
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g;
  return read(file).replace(passive, '""');
}

function importsOf(file: string): readonly string[] {
  const statement =
    /^(?:import|export)\b[^"';]*?\bfrom\s+"([^"]+)"|^import\s+"([^"]+)"|\b(?:import|require|createRequire\([^()]*\))\(\s*"([^"]+)"/gm;
  return [...read(file).matchAll(statement)].map(
    ([, from, bare, call]) => from ?? bare ?? call ?? "",
  );
}

/** The files of this project that a file imports. */
function targetsOf(file: string): readonly string[] {
  return importsOf(file)
    .filter(isRelative)
    .map((name) => target(file, name));
}

function folderOf(file: string): string {
  return file.split("/")[1] ?? "";
}

function layerOf(file: string): number {
  const at = LAYERS.findIndex((folders) => folders.includes(folderOf(file)));
  assert.ok(at >= 0, `${file} is in no layer`);
  return at;
}

/** Whether a file takes values and gives values. */
function isPure(file: string): boolean {
  return /\/(rules|model|transform|mapping)\//.test(file);
}

function linesOf(file: string): number {
  return read(file).trimEnd().split("\n").length;
}

function isRelative(name: string): boolean {
  return name.startsWith(".");
}

function target(file: string, name: string): string {
  return normalize(join(dirname(file), name));
}
