import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { declaredCommands } from "../../src/cli/commands/load.ts";
import { isCommon, outOfLimits } from "../../src/cli/options/declared.ts";
import { openRun } from "../../src/run/files/run-folder.ts";
import { markKind } from "../../src/run/files/run-kind.ts";
import { assertRefusal, refused, run, runs, start } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";

test("help of a command has at most 25 options, and names the common ones at its end", async () => {
  for (const declared of declaredCommands()) {
    const own = Object.values(declared.options ?? {}).filter((is) => !isCommon(is));
    assert.ok(own.length <= 25, `${declared.command} has ${own.length}`);
  }
  const { out } = await runs(0, ["host", "plan", "--help"]);
  assert.match(
    out,
    /\nCommon options: -f -c -q -v -h .{9,55} \.\.\.\nFor a description, run: nova2ironic help common-options\n$/,
  );
  assert.doesNotMatch(out, /^ +-q, --quiet/m);
  assert.match((await runs(0, ["help", "common-options"])).out, /`-q`, `--quiet`/);
});

const UUID = "c0ffee00-0000-4000-8000-000000000001";

/** For each option with a form: a correct value, and wrong ones. */
const FORMS: Readonly<Record<string, readonly string[]>> = {
  ...{ "nova-conf": ["h=/etc/nova.conf", "=x", "h=", ""], "tftp-root": ["/tftpboot", ""] },
  ...{ "tftp-from": ["h=/tftpboot", "=x", "h="], from: ["/tftpboot", "", "h="] },
  ...{
    "served-as": ["/tftpboot", "tftpboot", "/a b"],
    to: ["H2", "", ","],
    host: ["H1", "", "H 1"],
  },
  ...{ "compute-host": ["iron", "", " iron", "nobody:x=y"], property: ["a=b", "a", "=b"] },
  ...{ "deploy-kernel": ["c0ffee", "a b", "name:"], "deploy-ramdisk": ["name:k", "a b", "name:"] },
  ...{
    "conductor-ipmitool": ["1.8.19", "1.8"],
    "root-uuid": [`${UUID}=${UUID}`, UUID, `${UUID}=x`],
  },
  ...{ "fence-command": ["./fence", "", " "], "on-fenced": ["./stop", ""] },
  ...{ listen: ["127.0.0.1:8785", "8785", "h:65536"], window: ["2:00-5:00", "2-5", "2:00-2:00"] },
};

test("each option with a form accepts a correct value and names the form for a wrong one", () => {
  for (const { command, options = {} } of declaredCommands())
    for (const [name, is] of Object.entries(options).filter(([, { form }]) => form !== undefined)) {
      const [correct, ...wrong] = FORMS[name] ?? assert.fail(`${command} --${name}`);
      assert.equal(outOfLimits(is, correct), null, `${command} --${name} ${correct}`);
      for (const one of wrong) assert.equal(outOfLimits(is, one), is.form?.[1], `${name} ${one}`);
    }
});

test("the commands of a group have help of their own, and a missing or wrong one is named", async () => {
  const group = await runs(0, ["help", "host"]);
  assert.match(group.out, /^nova2ironic host <command>\n[\s\S]* host readmit <compute> /);
  const plan = await runs(0, ["host", "plan", "--help"]);
  assert.match(plan.out, /^nova2ironic host plan\n/);
  assert.equal((await runs(0, ["host", "help", "plan"])).out, plan.out);
  for (const [words, why] of [
    [["host"], /host needs a command\.[\s\S]*commands: list, plan, move/],
    [["-v", "host"], /host needs a command/],
    [["host", "--yes", "move"], /host needs a command/],
    [["host", ""], /host has no command ""/],
    [["help", "host", "lst"], /host has no command "lst"\.[\s\S]*Did you mean list\?/],
    [["--", "host", "list"], /no command was specified before --\./],
    [[""], /no command was specified before ""\./],
    [["host", "--run", "h1", "move"], /host move needs --nova-db/],
    [["--quiet", "host", "lst"], /host has no command "lst"\.[\s\S]*Did you mean list\?/],
    [["node", "list"], /node list needs --adoptable or --spares/],
    [
      ["node", "list", "--adoptable", "--spares"],
      /--adoptable and --spares are mutually exclusive/,
    ],
    [["node", "list", "--adoptable", "--need", "1"], /--need needs --spares/],
    [["node", "list", "--adoptable", "-c", "Spares"], /there is no column 'Spares'/],
    [["node", "list", "--spares", "--sort-column", "BAD"], /there is no column 'BAD'/],
    [["node", "unmanage", "n-1", "--run", "r", "-c", "UUID"], /there is no column 'UUID'/],
    [
      ["node", "manage", "n-1", "--from", "x", "--run", "m"],
      /--from and <machine> are mutually exclusive/,
    ],
    [["host", "readmit", "--run", "h"], /host readmit needs <compute>/],
    [["host", "move", "--run", "h"], /host move needs --nova-db/],
    [["host", "move", "--run", "h", "--from", "A"], /host move has no option --from/],
    [["serve", "switchover"], /switchover needs --state\.[\s\S]*Run serve switch/],
    [["serve", "proxy", "--state", "x"], /serve proxy has no option --state/],
    [["node-switchover", "--run", "o1"], /node-switchover needs <machine> or --spares/],
    [
      ["node-switchover", "--spares", "--fence-command", "x"],
      /--spares and --fence-command are mutually exclusive/,
    ],
    [["node-switchover", "n-1", "--run", "o1", "--need", "1"], /--need needs --spares/],
    [["node-switchover", "--spares", "--adoptable"], /has no option --adoptable/],
    [["host", "list", "--nova-db", "x", "--service-down-time=-1"], /takes a number above 0/],
    [["run", "--run", "m1", "--watch", "4000"], /--watch takes a number from 0 to 3600/],
    [["show", "m1/plan", "--skipped", "--diff"], /--skipped and --diff are mutually exclusive/],
    [
      ["show", "m1/plan", "--skipped", "--match", "Verdict=create"],
      /--skipped and --match are mutually exclusive/,
    ],
  ] as const)
    await refused(words, 64, "N2I-E100", [why]);
  await refused(["-v", "check"], 255, "N2I-E100", [/check needs --run/]);
});

test("the script of completion asks this program, which offers commands, options and choices", async () => {
  const { out } = await runs(0, ["completion"]);
  assert.match(out, /nova2ironic.* --get-yargs-completions/);
  assert.match((await runs(0, ["completion", "-h"])).out, /SHELL=zsh .* >> ~\/\.zshrc\n/);
  for (const [words, offered] of [
    [["hand"], "handover"],
    [["apply", "--skip"], "--skip-blocked"],
    [["show", "m1", "-f", "j"], "json"],
  ] as const) {
    // yargs prints completions itself, and ends the process.
    const { out } = await start(["--get-yargs-completions", "nova2ironic", ...words]).ended;
    assert.match(out, new RegExp(`^${offered}`, "m"), words.join(" "));
  }
});

test("a bare command says what there is, or shows the run of its folder; help of a command is that command's", async (t) => {
  const bare = await runs(0, []);
  assert.match(bare.out, /^nova2ironic \S+ moves [\s\S]*nova2ironic demo/);
  assert.ok(bare.out.split("\n").length <= 25);
  assert.match((await runs(0, ["help", "-h"])).out, /^nova2ironic <command>\n/);
  const cwd = privateFolder(t);
  const made = await openRun(join(cwd, "m1"), { create: true });
  await markKind(made, { kind: "migration" }, "extract");
  const shown = await runs(0, [], { cwd });
  assert.equal(shown.out, (await runs(0, ["status", "--run", made.path])).out);
  // The run that nova2ironic.yaml names goes before the newest one.
  const other = await openRun(join(cwd, "m2"), { create: true });
  await markKind(other, { kind: "migration" }, "extract");
  writeFileSync(join(cwd, "nova2ironic.yaml"), "run: m1\n", { mode: 0o600 });
  assert.equal((await runs(0, [], { cwd })).out, shown.out);
  const plan = await runs(0, ["plan", "--help"]);
  // Nothing that stands behind it is done.
  assert.equal((await runs(0, ["help", "plan", "--run", "m1", "--yes"])).out, plan.out);
});

test("codes are explained as many as are named, whichever way they are written", async () => {
  const both = await runs(0, ["explain", "d600", "N2I-E304"]);
  assert.deepEqual(both.out.match(/^N2I-[DE]\d+: /gm), ["N2I-D600: ", "N2I-E304: "]);
  assert.equal((await runs(0, ["help", "D600", "e304"])).out, both.out);
  assertRefusal(
    await run(["explain", "d600", "d6666"]),
    64,
    "N2I-E100",
    /no code or topic "d6666"/,
  );
});

test("help and explain print pages of the manual, and name near ones", async () => {
  const page = await runs(0, ["help", "runbook"]);
  assert.match(page.out, /^# Runbook\n/);
  const both = await runs(0, ["explain", "connect", "e304"]);
  assert.match(both.out, /^# Connect to databases[\s\S]*^N2I-E304: /m);
  assertRefusal(await run(["help", "runbok"]), 64, "N2I-E100", /Did you mean runbook\?/);
  assertRefusal(await run(["explain", "runbok"]), 64, "N2I-E100", /Did you mean runbook\?/);
  assert.match((await runs(0, ["help"])).out, /^Manual: nova2ironic help TOPIC.*\brunbook\b/ms);
});

test("a demo without a place to play says so, and where to look", async (t) => {
  const { TMPDIR: before } = process.env;
  t.after(() => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  });
  process.env.TMPDIR = join(privateFolder(t), "gone");
  const told = await run(["demo"]);
  assertRefusal(told, 1, "N2I-E120", /cannot write \S+gone \(ENOENT\)/);
  assert.match(told.err, /Fix: Specify a different folder \(--keep, or TMPDIR\), or free up/);
});

test("what was mistyped is named, before what it made look missing", async () => {
  const option = await run(["extract", "--rum", "m1"]);
  assertRefusal(option, 64, "N2I-E100", /extract has no option --rum\./, /Did you mean --run\?/);
  // One of another command.
  const other = await run(["status", "--run", "m1", "--leave-nova"]);
  assertRefusal(other, 64, "N2I-E100", /status has no option --leave-nova\./, /Run status with/);
  const command = await run(["aply", "--run", "m1"]);
  assertRefusal(command, 64, "N2I-E100", /no command "aply"\./, /Did you mean apply\?/);
  assertRefusal(await run(["help", "aply"]), 64, "N2I-E100", /Did you mean apply\?/);
  for (const [words, said, fix] of [
    [["plan", "--run", "m1", "-f", "xml"], /plan has no option -f\./, /Run plan with --help/],
    [["show", "m1", "-fjson"], /show has no option -fjson\./, /Did you mean -f json\?/],
    [["apply", "-all"], /apply has no option -all\./, /Did you mean --all\?/],
    [["-v", "plan"], /plan needs --run/, /plan --help/],
    [["plan", "--run"], /--run needs a value/, /--help/],
    [["status", "--run", "m1", "-f", "xml"], /xml/, /The allowed values are table, json/],
    [["plan", "--run", "m1", "more"], /plan does not accept the argument more\./, /plan --help/],
    [["--foo", "plan"], /no command was specified before --foo\./, /nova2ironic help/],
  ] as const)
    assertRefusal(await run([...words]), 64, "N2I-E100", said, fix);
  const camel = await run(["apply", "--run", "m1", "--novaDb", "DB", "--y"]);
  assert.doesNotMatch(camel.err, /has no option --(novaDb|y)\b/);
  const negated = await run(["rollback", "--run", "m1", "--no-window", "tried"]);
  assert.doesNotMatch(negated.err, /has no option/);
  // A word that only looks like an option is somebody's value.
  const value = await run(["status", "--run", "m1", "--", "--rum"]);
  assert.doesNotMatch(value.err, /has no option/);
});

test("a wrong choice, a missing word and a wrong folder are refused in words that help", async (t) => {
  const folder = privateFolder(t);
  const aply = await refused(["run", "--run", folder, "--until", "aply"], 64, "N2I-E100");
  assert.match(
    aply.err,
    /--until cannot be "aply".*\nFix: Did you mean apply\? The allowed values are /s,
  );
  await refused(["window", "opn", "--run", folder], 64, "N2I-E100", [
    /<action> of window cannot be "opn"/,
    /mean open/,
  ]);
  await refused(["show"], 64, "N2I-E100", [/show needs <file>/, /as in: show <file>/]);
  await refused(["plan"], 64, "N2I-E100", [/plan needs --run/, /nova2ironic\.yaml/]);
  await refused(["show", folder], 64, "N2I-E110", [/is not a plan folder/, /RUN\/plan/]);
  writeFileSync(join(folder, "of somebody"), "");
  chmodSync(folder, 0o755);
  const open = await refused(["status", "--run", folder], 64, "N2I-E110", [/It is not a run/]);
  assert.doesNotMatch(open.err, /chmod/);
});
