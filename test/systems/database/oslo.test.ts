// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${name} is what oslo.config substitutes.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { MigrationError } from "../../../src/lib/error.ts";
import { type OsloConfig, osloConfig, readOsloFiles } from "../../../src/lib/files/oslo.ts";
import { holds } from "../../support/seeded.ts";
import { refusal, tempFolder } from "./temp-file.ts";

function config(text: string, defaults: { [name: string]: string } = {}): OsloConfig {
  return osloConfig([{ name: "nova.conf", bytes: Buffer.from(text) }], defaults);
}

const reads: readonly (readonly [string, string, string])[] = [
  ["a value keeps # and ; and %", "[a]\nk = p%23s;w#x", "p%23s;w#x"],
  ["a comment stands at the beginning of a line only", "[a]\n#k = 1\n;k = 2\nk = 3 # no", "3 # no"],
  ["= divides when it comes before :", "[a]\nk=u:p", "u:p"],
  [": divides when it comes before =", "[a]\nk: u=p", "u=p"],
  ["quotes go when both ends match", '[a]\nk = " x \'"', " x '"],
  ["single quotes go as well", "[a]\nk = 'x'", "x"],
  ["quotes that do not match stay", "[a]\nk = \"x'", "\"x'"],
  ["an indented line continues the value", "[a]\nk = x\n  y\n\tz", "x\ny\nz"],
  ["an indented # continues the value too", "[a]\nk = x\n  # y", "x\n# y"],
  ["the last of repeated keys is in force", "[a]\nk = 1\nk = 2", "2"],
  ["a section may come back", "[a]\nk = 1\n[b]\nk = 2\n[a]\nj = 3", "1"],
  ["sections are compared in lower case", "[A]\nk = 1", "1"],
  ["CRLF ends lines and a BOM is no text", "\uFEFF[a]\r\nk = 1\r\n", "1"],
  ["an empty value is a value", "[a]\nk =", ""],
  ["$name is of the same section first", "[DEFAULT]\nx = 1\n[a]\nx = 2\nk = $x", "2"],
  ["${name} is of DEFAULT next", "[DEFAULT]\nx = 1\n[a]\nk = ${x}y", "1y"],
  ["a found value looks from its own section", "[DEFAULT]\nx=$y\ny=1\n[a]\ny=2\nk=$x", "1"],
  ["the caller's defaults come last", "[a]\nk = sqlite:///$state_path/n", "sqlite:////v/n"],
  ["$$ and \\$ are a dollar sign", "[a]\nx = 1\nk = $$x\\$x", "$x$x"],
  ["an unknown name stays as it stands", "[a]\nk = a$none ${none} $ $1", "a$none ${none} $ $1"],
];
for (const [name, text, value] of reads)
  test(`oslo: ${name}`, () => {
    assert.equal(config(text, { state_path: "/v" }).get("a", "k"), value);
  });

test("a key nobody sets is null, and DEFAULT does not stand in for it", () => {
  const read = config("[DEFAULT]\nk = 1\n[default]\nj = 2");
  assert.equal(read.get("a", "k"), null);
  assert.equal(read.get("DEFAULT", "j"), null);
  assert.deepEqual(read.all("a", "k"), []);
  assert.equal(read.where("a", "k"), null);
});

test("later files override, repeated keys gather, and a value knows its line", async (t) => {
  const { write } = await tempFolder(t);
  const one = await write("one", "[a]\nm = 1\nm = 2\nk = $x\n");
  const two = await write("two", "# later\n[a]\nm = 3\n\nx = 9\n");
  const read = await readOsloFiles([one, two]);
  assert.deepEqual(read.all("a", "m"), ["1", "2", "3"]);
  assert.equal(read.get("a", "m"), "3");
  assert.equal(read.get("a", "k"), "9");
  assert.equal(read.where("a", "m"), `${two}:3`);
});

const refused: readonly (readonly [string, string | Uint8Array, RegExp])[] = [
  ["a line that is no assignment", "[a]\npa55", /nova\.conf:2: neither/],
  ["a value without a key", "[a]\n= pa55", /nova\.conf:2: a value without a key/],
  ["a value before any section", "k = pa55", /nova\.conf:1: .*first \[section\]/],
  ["a section that does not end", "[a", /nova\.conf:1: /],
  ["a section without a name", "[]", /nova\.conf:1: /],
  ["an indented line after a blank one", "[a]\nk = 1\n\n  pa55", /nova\.conf:4: /],
  ["an indented line after one of spaces", "[a]\nk = 1\n   \n  pa55", /nova\.conf:4: /],
  ["an indented line after a comment", "[a]\nk = 1\n#\n  pa55", /nova\.conf:4: /],
  ["a NUL", "[a]\nk = 1\0", /nova\.conf:2: .*NUL/],
  ["UTF-16", Buffer.from("\uFEFF[a]\nk = 1", "utf16le"), /nova\.conf:1: .*NUL/],
  ["a value in Latin-1", Buffer.from("[a]\nk = \xe9pa55", "latin1"), /nova\.conf:2: .*UTF-8/],
];
for (const [name, text, says] of refused)
  test(`oslo refuses ${name}, and names the line`, () => {
    const bytes = Buffer.from(text);
    assert.throws(() => osloConfig([{ name: "nova.conf", bytes }]), refusal("N2I-E104", says));
  });

test("a comment in Latin-1 is no reason to refuse a file", () => {
  const bytes = Buffer.from("# \xe9\n[a]\nk = 1", "latin1");
  assert.equal(osloConfig([{ name: "nova.conf", bytes }]).get("a", "k"), "1");
});

test("a cycle is named, and only when a value of it is asked for", () => {
  const read = config("[a]\nx = $y\ny = $x\nz = 1");
  assert.equal(read.get("a", "z"), "1");
  const attempt = () => read.get("a", "x");
  assert.throws(attempt, refusal("N2I-E104", /^nova\.conf:2: \$x -> \$y -> \$x refers to itself$/));
});

test("what is no file of a sensible size is refused, not waited for", async (t) => {
  const { folder, write } = await tempFolder(t);
  execFileSync("mkfifo", [`${folder}/pipe`]);
  const huge = await write("huge", Buffer.alloc(4 * 1024 * 1024 + 1, 10));
  const read = (path: string) => readOsloFiles([path]);
  await assert.rejects(read(`${folder}/none`), refusal("N2I-E104", /none: no such file.*ENOENT/));
  await assert.rejects(read(folder), refusal("N2I-E104", /not a regular file/));
  await assert.rejects(read(`${folder}/pipe`), refusal("N2I-E104", /not a regular file/));
  await assert.rejects(read("/dev/zero"), refusal("N2I-E104", /not a regular file/));
  await assert.rejects(read(huge), refusal("N2I-E104", /larger than 4096 KiB/));
  await assert.rejects(read("a\0b"), refusal("N2I-E104", /cannot read/));
});

test("whatever the bytes, oslo reads them or throws a MigrationError", () => {
  const words = ["[a]", "\n", " ", "k", "=", ":", "$k", "${k}", "$", "'", '"', "#", "\r", "\0"];
  const lines = fc.array(fc.constantFrom(...words), { maxLength: 60 });
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    lines.map((parts) => Buffer.from(parts.join(""))),
  );
  holds(2000, bytes, (content) => {
    try {
      osloConfig([{ name: "f", bytes: content }]).get("a", "k");
    } catch (error) {
      assert.ok(error instanceof MigrationError && error.code === "N2I-E104");
    }
  });
});
