import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { visibleLines } from "../../src/lib/table/text.ts";
import { shellArgument } from "../../src/lib/text.ts";
import { nextCommand } from "../../src/run/next.ts";
import { writeCase } from "../cases/write-case.ts";
import { run, runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { anyText } from "../support/any-text.ts";
import { read } from "../support/command-line.ts";

test("what extract and plan were given is saved in the run, and no line repeats it", async (t) => {
  const folder = privateFolder(t);
  const written = await writeCase(
    {
      shows: "one machine",
      allow_pairing: true,
      nova_bm: { nodes: [{ id: 1, pm_address: null }] },
    },
    folder,
  );
  const key = ["--key-file", join(folder, "its key")];
  const at = ["--run", join(folder, "run")];
  const extracted = await runs(0, ["extract", ...at, ...written.extract, ...key]);
  // Where Ironic is has to be given once.
  const lines = `^Next: nova2ironic power ${at.join(" ")}\nthen: nova2ironic plan ${at.join(" ")} --ironic-db DB$`;
  assert.match(extracted.err, new RegExp(lines, "m"));
  // A later command may be run in another folder.
  const site = ["--site", relative(process.cwd(), join(folder, "site.json"))];
  const decided = [...site, "--allow-pairing", "--max-unreachable", "2"];
  await runs(6, ["plan", ...at, ...written.ironic, ...decided]);
  const asked = await run(["power", ...at, "--rate", "7", "--in-flight", "256"]);
  assert.match(asked.err, new RegExp(`^or: nova2ironic plan ${at.join(" ")}$`, "m"));
  const saved = join(folder, "run", "connections.yaml");
  assert.equal(statSync(saved).mode & 0o777, 0o600);
  const text = readFileSync(saved, "utf8");
  assert.match(text, new RegExp(`^site: "${folder}/site.json"$`, "m"));
  assert.match(
    text,
    /^decisions:\n {2}allow_pairing: true\n {2}max_unreachable: 2\n {2}rate: 7\n$/m,
  );
  // The same plan needs no option again; a command line takes a decision back.
  await runs(6, ["plan", ...at, "--allow-pairing=false", "--max-unreachable", "0"]);
  assert.match(readFileSync(saved, "utf8"), /^decisions:\n {2}rate: 7\n$/m);
  const bare = new RegExp(`^then: nova2ironic plan ${at.join(" ")}$`, "m");
  assert.match((await runs(6, ["plan", ...at, "--allow-pairing"])).err, bare);
  // No command depends on the file for what is next.
  rmSync(saved);
  assert.match(
    (await runs(0, ["status", ...at])).err,
    /^Next: nova2ironic show \S+plan --skipped /m,
  );
});

test("any word is read by a shell as it was given, on one line that moves no terminal", () => {
  const words = fc.sample(fc.oneof(anyText, fc.string({ unit: fc.constantFrom(...AWKWARD) })), {
    numRuns: 500,
    seed: 1,
  });
  // Neither is an argument of a process.
  const given = words.filter((word) => !word.includes("\0") && !/\p{Surrogate}/u.test(word));
  const lines = given.map((word) => `p ${shellArgument(word)}`);
  for (const [at, line] of lines.entries())
    if (!given[at]?.endsWith("\n")) assert.deepEqual(visibleLines(line), [line]);
  const script = `p() { printf '%s\\0' "$1"; }\n${lines.join("\n")}`;
  const read = execFileSync("sh", ["-c", script], { encoding: "utf8" }).split("\0");
  assert.deepEqual(read.slice(0, -1), given);
});

const AWKWARD = [..."a1 '\"\\%!$`~#&;|<>(){}[]*?=-\n\r\t\u001b\u200f\u2028é\u05d0🔑"];

test("a value that begins as an option does is read as a value", async () => {
  for (const run of ["-x", "--all", "-x y", "-7"]) {
    const line = nextCommand("status", { run });
    assert.equal((await read("status", line)).run, run, line);
  }
});

test("no secret is in a next command", () => {
  const line = nextCommand("apply", { run: "m1" }, { ironicDb: "mysql://u:pw@h/ironic" });
  assert.equal(line, "nova2ironic apply --run m1 --ironic-db DB");
});

test("every line that names a next command is made in one place, of all that was given", () => {
  const named =
    /nova2ironic (?:\$\{(?!version)|(?:extract|power|plan|apply|verify|release|boot|finish|rollback|status) --run)/;
  const sources = filesIn("src").filter((file) => /^src\/cli\/|\/rules\//.test(file));
  const own = sources.filter(
    (file) => !/apply\/next\.ts$/.test(file) && named.test(withoutHelp(readFileSync(file, "utf8"))),
  );
  assert.deepEqual(own, []);
  for (const file of filesIn("src/cli/commands"))
    for (const [call] of readFileSync(file, "utf8").matchAll(/nextCommand\([^)]*/g))
      assert.match(call, /"\w+", (?:args|again|known|\{ run: )/, `${file}: ${call}`);
});

function withoutHelp(text: string): string {
  return text.replaceAll(/\.example\([^)]*\)/g, "");
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name));
}

test("without nova.conf extract names the hosts, and power asks for the files rather than for itself", async (t) => {
  const folder = privateFolder(t);
  const nodes = [1, 2, 3].map((id) => ({ id, service_host: id === 3 ? "b" : "a" }));
  const written = await writeCase({ shows: "no nova.conf", nova_bm: { nodes } }, folder);
  const at = ["--run", join(folder, "run")];
  const source = written.extract.slice(0, 2);
  const conf = join(folder, "nova.conf");
  writeFileSync(conf, "[baremetal]\npower_manager = nova.virt.baremetal.ipmi.IPMI\n", {
    mode: 0o600,
  });
  const none = await runs(0, ["extract", ...at, ...source]);
  assert.match(none.err, /for a, b, so the power manager of 3 machines is unknown/);
  const asked = await runs(3, ["power", ...at]);
  assert.match(asked.err, /^Next: \S+ extract .*--nova-conf HOST=FILE$/m);
  assert.doesNotMatch(asked.err, /--only failed/);
  const some = await runs(0, ["extract", ...at, ...source, "--nova-conf", `a=${conf}`]);
  assert.match(some.err, /no nova\.conf was specified for b, so the power manager of 1 machine is/);
  assert.match(some.err, /^Next: \S+ extract .*--nova-conf a=\S+ --nova-conf b=FILE$/m);
});
