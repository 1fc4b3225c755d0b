import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";

interface Room {
  readonly room: string;
  /** Rooms it may import; each stands above it in the table, so no cycle can be written down. */
  readonly rooms: readonly string[];
  /** Packages it may import; `node:` is all of Node. */
  readonly packages: readonly string[];
}

const CORE = [
  "mapping",
  "boot",
  "inspect",
  "power",
  "transform",
  "plan",
  "flavors",
  "hosts",
  "settings",
  "verify",
  "handover",
  "render",
  "report",
  // It says how long the window takes.
  "check",
  "policy",
  "proxy",
  "adoptable",
  "switchover",
];

/** The map of the tool. A new room is a row; a new arrow needs a reason in the change's message. */
const MAP: readonly Room[] = [
  { room: "model", rooms: [], packages: ["node:crypto"] },
  ...CORE.map((name, at) => ({
    room: `core/${name}`,
    rooms: ["model", ...CORE.slice(0, at).map((earlier) => `core/${earlier}`)],
    // Nova's policy files are YAML.
    packages: name === "policy" ? ["node:module", "yaml"] : ["ajv", "ajv-formats", "diff"],
  })),
  // What must not outlive the process, files and children, is taken away in one place.
  edge("process"),
  edge("config"),
  edge("disk", [], ["edge/process"]),
  edge("log"),
  // A library of its own: it knows nothing of ours, and others know its index alone.
  { room: "edge/ipmi", rooms: [], packages: ["node:"] },
  edge("power", [], ["edge/ipmi"]),
  edge("virsh", [], ["edge/process"]),
  edge("tftp", [], ["edge/disk", "edge/process"]),
  edge("database", ["knex", "mysql2", "pg", "pg-copy-streams", "libsql"], ["edge/process"]),
  { room: "edge/nova-bm", rooms: ["model", "edge/database"], packages: ["node:", "knex"] },
  // Its tables stand beside nova-baremetal's own, and are told from them.
  edge("leases", [], ["edge/database", "edge/nova-bm"]),
  // A table is copied as an archive has it: described, read and written by what was proved on three servers.
  edge("copy", ["knex", "libsql"], ["edge/database", "edge/nova-bm"]),
  { room: "edge/nova", rooms: ["model", "edge/database"], packages: ["node:", "knex"] },
  // What both read of nova is read in one place.
  { room: "edge/nova-write", rooms: ["model", "edge/database", "edge/nova"], packages: ["knex"] },
  {
    room: "edge/ironic-db",
    rooms: ["model", "edge/database"],
    packages: ["node:", "knex", "libsql"],
  },
  // Logging in, sessions and their errors are the same for every service.
  edge("openstack", ["yaml"]),
  { room: "edge/ironic-rest", rooms: ["model", "edge/openstack"], packages: ["node:"] },
  { room: "edge/nova-rest", rooms: ["model", "edge/openstack"], packages: ["node:"] },
  // A broker's management API: another service over the same HTTP, with a login of its own.
  { room: "edge/neutron", rooms: ["model", "edge/openstack"], packages: ["node:"] },
  { room: "edge/glance", rooms: ["model", "edge/openstack"], packages: ["node:"] },
  // What this tool serves; what is asked there is nobody's business here.
  edge("http"),
  { room: "engine", rooms: ["model"], packages: [] },
  { room: "parts", rooms: ["model", "core/*", "edge/*", "engine"], packages: ["node:"] },
  { room: "demo", rooms: ["model", "core/*", "edge/*"], packages: ["node:", "knex", "libsql"] },
  {
    room: "stages",
    rooms: ["model", "core/*", "edge/*", "engine", "parts", "demo"],
    packages: ["node:", "ajv", "yaml", "knex"],
  },
  // What results look like, for people and for programs; it reads no world.
  { room: "report", rooms: ["model", "core/*"], packages: ["node:", "yaml", "picocolors"] },
  {
    room: "cli",
    rooms: ["model", "core/*", "edge/*", "engine", "parts", "stages", "demo", "report"],
    packages: ["*"],
  },
];

/** A room that reaches one outside system, with its own drivers. */
function edge(name: string, drivers: readonly string[] = [], rooms: readonly string[] = []): Room {
  return {
    room: `edge/${name}`,
    rooms: ["model", ...rooms],
    packages: ["node:", ...drivers],
  };
}

const SOURCES = typescript("src");
const ALL = [...SOURCES, ...typescript("test"), ...typescript("grenade")];

test("a room of the map names only rooms above it", () => {
  for (const [at, { room, rooms }] of MAP.entries()) {
    const above = MAP.slice(0, at).map((other) => other.room);
    for (const named of rooms)
      assert.ok(
        above.some((other) => matches(other, named)),
        `${room} names ${named}`,
      );
  }
});

test("every source file stands in a room of the map", () => {
  assert.deepEqual(
    SOURCES.filter((file) => roomOf(file) === undefined),
    [],
  );
});

test("a file imports only what the map allows its room", () => {
  const wrong = SOURCES.flatMap((file) => {
    const here = roomOf(file);
    return importsOf(file)
      .filter((name) => here !== undefined && !allowed(here, file, name))
      .map((name) => `${file} imports ${name}`);
  });
  assert.deepEqual(wrong, []);
});

test("no file imports itself by way of others, types included", () => {
  const state = new Map<string, "open" | "closed">();
  const cycles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (state.get(file) === "open") cycles.push([...path, file].join(" -> "));
    if (state.has(file)) return;
    state.set(file, "open");
    const next = importsOf(file)
      .filter(isRelative)
      .map((name) => target(file, name));
    // A text of a test may hold the program of another process; that is no import of this file.
    for (const other of next.filter((name) => ALL.includes(name))) visit(other, [...path, file]);
    state.set(file, "closed");
  };
  for (const file of ALL) visit(file, []);
  assert.deepEqual(cycles, []);
});

test("core and report read no clock, no randomness and no process", () => {
  const impure =
    /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bprocess\b|\bset(Timeout|Interval)\b/;
  assert.deepEqual(
    found(
      SOURCES.filter((file) => /^src\/(core|report)\//.test(file)),
      impure,
    ),
    [],
  );
});

test("a command has its streams, words, variables and signals from who runs it", () => {
  const own = ["cli/main.ts", "stages/failpoint.ts", "stages/surroundings.ts"].map(
    (name) => `src/${name}`,
  );
  const others = SOURCES.filter(
    (file) => /^src\/(cli|stages|parts|engine)\//.test(file) && !own.includes(file),
  );
  const named = /\bprocess\.(std(in|out|err)|exit(Code)?|argv|env|cwd|umask|on|once|off|emit)\b/;
  assert.deepEqual(found(others, named), []);
});

test("a file of under 20 lines has a reason", () => {
  const reasons = [
    // Each is loaded alone, when its command is called, completed or asked for help.
    /^src\/cli\/(commands|options)\//,
    // Pieces of the page's script, whose DOM has types of its own.
    /^src\/report\/browser\//,
    // The door of a library; what answers --version before anything else is loaded.
    /\/index\.ts$|^src\/cli\/main\.ts$/,
    // Loaded at once by what does not load its neighbours: views, the manual, retire's own work.
    /^src\/(cli\/matched|edge\/disk\/manual|stages\/(version|patience|retired))\.ts$/,
  ];
  const short = SOURCES.filter((file) => read(file).trimEnd().split("\n").length < 20);
  assert.deepEqual(
    short.filter((file) => !reasons.some((reason) => reason.test(file))),
    [],
  );
});

test("no file is longer than 400 lines", () => {
  const long = ALL.map((file) => ({ file, lines: read(file).trimEnd().split("\n").length }))
    .filter(({ lines }) => lines > 400)
    .map(({ file, lines }) => `${file}: ${lines}`);
  assert.deepEqual(long, []);
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
  const users = [...ALL, ".ci/bundle.js", ".ci/compile.js"].map((file) => ({
    file,
    words: new Set(read(file).match(/\w+/g)),
  }));
  const kinds = "(?:async )?(?:function\\*?|const|let|class|interface|type)";
  const idle = SOURCES.flatMap((file) =>
    [...read(file).matchAll(new RegExp(`^export ${kinds}\\s+(\\w+)`, "gm"))]
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
  assert.deepEqual(
    [...homes].filter(([, files]) => files.length > 1),
    [],
  );
});

test("nothing has the type any, and nothing prints past the streams", () => {
  assert.deepEqual(found(ALL, /[:<|&=]\s*any\b\s*(\[|[;,)>|&={]|$)|,\s*any\s*>|\bas\s+any\b/m), []);
  assert.deepEqual(found(ALL, /\bconsole\s*\.\s*\w/), []);
});

test("nothing is left to do in a comment", () => {
  const marks = new RegExp(`\\b(${["TO", "FIX"].join("DO|")}ME)\\b`);
  assert.ok(marks.test(["TO", "DO"].join("")) && marks.test(["FIX", "ME"].join("")));
  assert.deepEqual(
    ALL.filter((file) => marks.test(read(file))),
    [],
  );
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
  assert.deepEqual(
    files.filter((file) => machine.test(read(file))),
    [],
  );
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

function roomOf(file: string): Room | undefined {
  return MAP.find(({ room }) => file.startsWith(`src/${room}/`));
}

function allowed(here: Room, file: string, name: string): boolean {
  if (isRelative(name)) {
    const there = roomOf(target(file, name));
    return (
      there === here || here.rooms.some((room) => there !== undefined && matches(there.room, room))
    );
  }
  return here.packages.some((one) =>
    one.endsWith(":")
      ? name.startsWith(one)
      : one === "*" || name === one || name.startsWith(`${one}/`),
  );
}

function matches(room: string, named: string): boolean {
  return named.endsWith("/*") ? room.startsWith(named.slice(0, -1)) : room === named;
}

function isRelative(name: string): boolean {
  return name.startsWith(".");
}

function target(file: string, name: string): string {
  return normalize(join(dirname(file), name));
}
