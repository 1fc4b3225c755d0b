import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { writeCase } from "../../src/demo/write-case.ts";
import { visibleLines } from "../../src/lib/table/text.ts";
import { shellWord } from "../../src/lib/text.ts";
import { DEFAULTS, KEPT, type NextCommand, nextCommand } from "../../src/run/next.ts";
import { run, runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { anyText } from "../support/any-text.ts";
import { commandOf, read } from "../support/command-line.ts";

/** Options that no next command has from an earlier one, and why. */
const ASKED_ANEW: { readonly [option: string]: string } = {
  ...{ yes: "a word for one time", "no-window": "likewise" },
  ...{ plan: "what one run shows", verify: "likewise", undo: "likewise", diff: "likewise" },
  ...{ all: "what is to be undone", "detailed-exitcode": "for scripts" },
  ...{ "propose-site": "is written once", "all-rows": "how it is shown" },
  ...{ format: "how it is shown", column: "likewise", "sort-column": "likewise" },
  ...{ noindent: "likewise", quote: "likewise", "max-width": "likewise" },
  ...{ "fit-width": "likewise", "print-empty": "likewise", match: "likewise" },
};

/** And those of one command alone. */
const NOT_PASSED: { readonly [command: string]: readonly string[] } = {
  plan: ["placement-db"], // for --propose-site
  // Named at the end of the window alone, line by line; and what was done at the broker by hand.
  // A run between hosts keeps where its nova_bm is.
  verify: ["compute-log", "queue-purged", "nova-bm-db"],
  // Which machines go where is the plan's word from then on; leases are kept without a run.
  host: [
    ...["host", "interval", "ttl", "my-ip", "tftp-root", "on-fenced", "print-unit", "take"],
    ...["nova-bm-db", "node", "from", "to", "site", "force-aggregates", "nova-conf"],
    // What a person says of a dead host is said each time.
    ...["service-down-time", "fence-command", "confirmed-down", "settle"],
    "queue-purged",
  ],
  // Which machine, and what its record says, is said each time; the rest is not in this release.
  node: [
    ...["adoptable", "from", "description", "property", "availability-zone", "dry-run"],
    ...["nova", "flavor", "port", "image", "accept-network-cut", "watch", "spares"],
    ...["need", "identical"],
    ...["destination", "soft-timeout", "proof-interval", "proof-timeout", "fence-command"],
    ...["source-confirmed-off", "leave-nova"],
    // Where a list is read ends with its command.
    ...["ironic-db"],
  ],
  // What let another command do something dangerous is no word for a rollback.
  rollback: [
    ...["leave-nova", "allow-running-compute", "allow-queued-requests", "after-finish"],
    // Said of the machine at hand.
    ...["nova-bm-db", "fence-command"],
  ],
};

interface Option {
  readonly default?: unknown;
  readonly type?: string;
  readonly array?: boolean;
  readonly choices?: readonly string[];
}

const COMMANDS = Object.keys(KEPT) as readonly NextCommand[]; // of a constant of ours

async function optionsOf(name: NextCommand): Promise<{ readonly [option: string]: Option }> {
  const { options = {} } = await commandOf(name);
  return options as { readonly [option: string]: Option }; // as they are declared
}

/** A value that no default is, and that a shell would take apart. */
function someValue(name: string, { type, array, choices }: Option, usual: unknown): unknown {
  if (type === "boolean") return true;
  if (type === "number") return 7;
  const one = choices?.find((choice) => choice !== usual) ?? `it's a ${name}; $(x)`;
  return array === true ? [one, choices?.at(-1) ?? `other ${name}`] : one;
}

const camel = (name: string) => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

for (const command of COMMANDS) {
  test(`of each option of ${command} it is decided whether the next command has it`, async () => {
    const options = await optionsOf(command);
    const kept: readonly string[] = KEPT[command];
    const decided = new Set([...kept, ...Object.keys(ASKED_ANEW), ...(NOT_PASSED[command] ?? [])]);
    const open = Object.keys(options).filter((name) => name !== "run" && !decided.has(name));
    assert.deepEqual(open, []);
    assert.deepEqual(
      kept.filter((name) => !(name in options)),
      [],
    );
    const silent = kept.flatMap((name) => {
      const usual = options[name]?.default;
      return usual === undefined || usual === false ? [] : [[name, usual] as const];
    });
    assert.deepEqual(Object.fromEntries(silent), DEFAULTS[command] ?? {});
  });

  test(`whatever was given to ${command} is in the line that names it, as a shell reads it`, async () => {
    const options = await optionsOf(command);
    for (const name of KEPT[command]) {
      const option = options[name] ?? {};
      const value = someValue(name, option, option.default);
      const given = { run: "a run's folder", [camel(name)]: value };
      // Alone a cloud is the way to Ironic; beside its database it needs the word that asks Nova there.
      const line = nextCommand(command, given, requiredBy(options, given));
      const found = new Map<string, unknown>(Object.entries(await read(command, line)));
      assert.deepEqual([found.get("run"), found.get(camel(name))], [given.run, value], line);
    }
  });
}

/** The rest that the command insists on. */
function requiredBy(options: { readonly [name: string]: object }, given: object): object {
  const names = Object.keys(options).filter(
    (name) => "demandOption" in (options[name] ?? {}) && !(camel(name) in given),
  );
  return Object.fromEntries(
    names
      .filter((name) => (options[name] as { demandOption?: boolean }).demandOption === true)
      .map((name) => [camel(name), "DB"]),
  );
}

test("what extract and plan were given is in the lines they end with", async (t) => {
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
  const quoted = `--key-file '${key[1]}'`;
  const extracted = await runs(0, ["extract", ...at, ...written.extract, ...key]);
  assert.deepEqual(namedIn(extracted.err), ["power", "plan"]);
  // What the run keeps is named by --run; a line that has to name a place names them all.
  assert.match(extracted.err, new RegExp(`^Next: nova2ironic power ${at.join(" ")}$`, "m"));
  const nova = after(written.extract, "--nova-db").join(" ");
  assert.match(extracted.err, new RegExp(`^then: .* --ironic-db DB ${nova} ${quoted}$`, "m"));
  // Whoever asks for the status may stand in another folder.
  const site = ["--site", relative(process.cwd(), join(folder, "site.json"))];
  const first = [...written.ironic, ...key, ...site, "--allow-pairing"];
  const planned = await runs(6, ["plan", ...at, ...first]);
  assert.match(planned.err, new RegExp(`^Next: nova2ironic power ${at.join(" ")}  `, "m"));
  const asked = await run(["power", ...at]);
  assert.match(asked.err, new RegExp(`or: nova2ironic plan ${at.join(" ")} --allow-pairing$`, "m"));
  const more = ["--allow-pairing", ...site, ...after(written.extract, "--nova-db")];
  await runs(6, ["plan", ...at, ...written.ironic, ...key, ...more, "--compute-host", "new one"]);
  const next = async () => (await runs(0, ["status", ...at])).err;
  const bare = new RegExp(`^Next: nova2ironic plan ${at.join(" ")}(?: --allow-pairing)?  # `, "m");
  assert.match(await next(), bare);
  const [given, kept] = ["given.json", "connections.yaml"].map((name) => join(folder, "run", name));
  for (const file of [given, kept]) assert.equal(statSync(file ?? "").mode & 0o777, 0o600);
  const text = readFileSync(kept ?? "", "utf8");
  assert.match(text, new RegExp(`^site: "${folder}/site.json"$`, "m"));
  // Each word stands in one of the two.
  assert.doesNotMatch(readFileSync(given ?? "", "utf8"), new RegExp(folder));
  // Nothing depends on them.
  for (const spoilt of ["{", "[]", JSON.stringify({ format: "nova2ironic/given@1", given: [7] })]) {
    writeFileSync(given ?? "", spoilt);
    assert.match(await next(), bare);
  }
  rmSync(kept ?? "");
  assert.match(await next(), /plan .* --ironic-db DB --nova-db DB .*--key-file FILE/);
});

/** An option among these words, with its value. */
function after(words: readonly string[], option: string): readonly string[] {
  const at = words.indexOf(option);
  return at === -1 ? [] : words.slice(at, at + 2);
}

/** The commands that the lines at its end name. */
function namedIn(err: string): readonly (string | undefined)[] {
  return [...err.matchAll(/nova2ironic (\w+) --run/g)].map(([, command]) => command);
}

test("any word is read by a shell as it was given, on one line that moves no terminal", () => {
  const words = fc.sample(fc.oneof(anyText, fc.string({ unit: fc.constantFrom(...AWKWARD) })), {
    numRuns: 500,
    seed: 1,
  });
  // Neither is an argument of a process.
  const given = words.filter((word) => !word.includes("\0") && !/\p{Surrogate}/u.test(word));
  const lines = given.map((word) => `p ${shellWord(word)}`);
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

test("no secret is in a next command, and a cloud beside Ironic's database only where it is asked", () => {
  const given = { run: "m1", ironicDb: "mysql://u:pw@h/ironic", osCloud: "admin" };
  assert.equal(nextCommand("apply", given), "nova2ironic apply --run m1 --ironic-db DB");
  assert.match(
    nextCommand("plan", { ...given, deployKernel: "name:k" }),
    /--os-cloud admin --deploy-kernel name:k$/,
  );
  assert.match(nextCommand("apply", { run: "m1" }, { yes: true }), /--yes --via rest$/);
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
  assert.match(some.err, /no nova\.conf is given for b, so the power manager of 1 machine is/);
  assert.match(some.err, /^Next: \S+ extract .*--nova-conf a=\S+ --nova-conf b=FILE$/m);
});
