import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { Engine } from "../../src/model/database.ts";
import type { Case } from "../cases/case.ts";
import { withBmcs } from "../lab/bmc/with-farm.ts";
import { engines, test } from "../lab/engines.ts";
import { connectionsOf } from "../support/connections.ts";
import { quickSessions } from "../support/quick-sessions.ts";
import { canary, finder, search, searchFiles, searchProcess } from "./canaries.ts";
import { assertRefusal, pausedAt, type Ran } from "./cli.ts";
import { digest } from "./digest.ts";
import { refuseLoudly } from "./loud.ts";
import { asked, deploySecrets, type Secrets, VARIABLE } from "./secrets-case.ts";
import { type Whole, wholeCase, withTrees } from "./whole.ts";

const FORMATS = ["table", "json", "yaml", "csv", "value"];

/** Every command and its expected status, in an order that goes through. */
function everything(made: Secrets, formats: readonly string[]): readonly [number, string[]][] {
  const { at, source, reader, writer, plan, run } = made;
  const each = (...words: string[]): [number, string[]][] =>
    formats.map((format) => [0, [...words, "-f", format]]);
  return [
    [0, ["extract", ...at, ...source, "--debug"]],
    [0, ["extract", ...at, ...source, "--json", "-q"]],
    ...each("show", `${run}/snapshot.jsonl`),
    [0, ["plan", ...at, ...reader, ...plan, "--diff", "--all"]],
    [2, ["plan", ...at, ...reader, ...plan, "--json", "--detailed-exitcode"]],
    ...each("show", `${run}/plan`),
    [0, ["show", `${run}/plan`, "--diff", "--all"]],
    [4, ["apply", ...at, ...writer, "--yes", "--debug"]],
    [3, ["apply", ...at, ...writer, "--yes", "--skip-blocked"]],
    [3, ["apply", ...at, ...writer, "--yes", "--skip-blocked", "--json", "-f", "json"]],
    ...each("verify", ...at, ...reader, "--all-rows"),
    ...each("status", ...at),
    ...each("rollback", ...at, ...reader, "--all", "--plan"),
    [0, ["plan", ...at, ...reader, ...plan, "--diff", "--all"]],
    [0, ["rollback", ...at, ...writer, "--all", "--yes", "--debug"]],
  ];
}

/** The loaded rows hold the very secrets, so that not finding them elsewhere says something. */
async function assertLoaded({ ironic, canaries }: Secrets): Promise<void> {
  const rows: { driver_info: string }[] = await ironic.db("nodes").orderBy("id");
  const texts = rows.flatMap(({ driver_info }) => Object.values(JSON.parse(driver_info)));
  for (const name of ["pm_password", "pm_password 2", "virtual_power_host_pass", "iBoot password"])
    assert.ok(texts.includes(canaries.find((one) => one.name === name)?.text), name);
}

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, no command in any format shows or keeps a secret of the deployment`, async (t) => {
    const made = await deploySecrets(engine, t);
    const formats = engine === "sqlite" ? FORMATS : ["json"];
    for (const [status, words] of everything(made, formats)) {
      if (words[0] === "rollback" && words.includes("--yes")) await assertLoaded(made);
      await made.silently(status, words);
    }
    assert.ok(made.canaries.length >= 18);
  });

// On Linux: it reads /proc.
for (const engine of engines("mysql", "postgresql"))
  test(`on ${engine}, a running load has secrets neither in its arguments nor in its environment`, async (t) => {
    const made = await planned(engine, t);
    const { env, find } = made;
    const paused = await pausedAt("commit.before:1", applying(made), env);
    assert.deepEqual(searchProcess(find, paused.pid, VARIABLE), []);
    assert.notDeepEqual(searchProcess(find, paused.pid, "NONE"), [], "it would be found there");
    paused.signal("SIGUSR2");
    assert.equal((await paused.ended).status, 3);
  });

test("asking BMCs that do not answer tells and keeps no secret", async (t) => {
  const { addresses } = await withBmcs(t, new Array(5).fill({ closed: true }));
  // The virtual machine is asked by ssh, in leak.ironic.test.ts.
  await asked(t, addresses, { deleted: [3] });
});

test("a canary is found as text, in hex, and in base64 wherever it begins", () => {
  const one = canary("one");
  const find = finder([one]);
  for (const before of ["", "x", "xy", "xyz"]) {
    const bytes = Buffer.from(`${before}${one.text}`);
    for (const form of ["base64", "base64url", "hex"] as const)
      assert.notDeepEqual(find("here", bytes.toString(form)), [], `${form} after ${before}`);
    assert.notDeepEqual(find("here", JSON.stringify(bytes.toString())), []);
    assert.notDeepEqual(find("here", encodeURIComponent(bytes.toString())), []);
  }
  assert.deepEqual(find("here", "nothing"), []);
});

const VOICES = [["-q"], ["-q", "--debug"], ["-q", "--json"]];

async function planned(engine: Engine, t: TestContext): Promise<Secrets> {
  const made = await deploySecrets(engine, t);
  const { at, source, reader, plan, silently } = made;
  await silently(0, ["extract", ...at, ...source]);
  await silently(0, ["plan", ...at, ...reader, ...plan]);
  return made;
}

const applying = ({ at, writer }: Secrets, ...more: readonly string[]): readonly string[] => [
  ...["apply", ...at, ...writer, "--yes", "--skip-blocked", ...more],
];

/** Nothing of the secrets in what was said and kept, and nothing said in a way of its own. */
function assertSilent(made: Secrets, ran: Ran, words: readonly string[]): void {
  const leaks = search(finder(made.canaries), ran, [`${made.folder}/runs`, made.env.HOME ?? ""]);
  assert.deepEqual(leaks, []);
  if (words.includes("--json"))
    for (const line of ran.err.trimEnd().split("\n"))
      assert.doesNotThrow(() => JSON.parse(line), line);
}

for (const engine of engines()) {
  test(`on ${engine}, a server that quotes the row it refuses is not repeated`, async (t) => {
    const made = await planned(engine, t);
    await refuseLoudly(made.ironic, "INSERT", "nodes", "NEW.driver_info");
    const before = await digest(made.ironic);
    for (const voice of VOICES) {
      const words = applying(made, ...voice);
      const { leaks, ...ran } = await made.tried(words);
      assert.deepEqual(leaks, []);
      assertSilent(made, ran, words);
      if (voice.length === 1) assertRefusal(ran, 1, "N2I-E207", /writing nodes/);
    }
    assert.equal(await digest(made.ironic), before);
  });

  test(`on ${engine}, a duplicate key that only the server sees is refused without the row's values`, async (t) => {
    const made = await planned(engine, t);
    await made.ironic.db.raw("CREATE UNIQUE INDEX one_of_each ON nodes (driver)");
    const before = await digest(made.ironic);
    const words = applying(made, "-q");
    const { leaks, ...ran } = await made.tried(words);
    assert.deepEqual(leaks, []);
    assertRefusal(ran, 4, "N2I-E300", /writing nodes: .*(ER_DUP_ENTRY|23505|SQLITE_CONSTRAINT)/);
    assert.equal(await digest(made.ironic), before);
  });

  test(`on ${engine}, another's row that appears during the load is refused without the row's values`, async (t) => {
    const made = await planned(engine, t);
    for (const [place, column] of [
      ["instance_uuid", "b0000000-0000-4000-8000-000000000001"],
      ["uuid", "a0000000-0000-4000-8000-000000000002"],
    ] as const) {
      const words = applying(made, "-q");
      const paused = await pausedAt("begin.after:1", [...words, "--debug"], made.env);
      const other = made.watch(canary(`password of the other by ${place}`));
      await made.ironic
        .db("nodes")
        .insert({
          uuid: "f0000000-0000-4000-8000-000000000099",
          driver: "fake",
          driver_info: JSON.stringify({ ipmi_password: other.text }),
          [place]: column,
        });
      const before = await digest(made.ironic);
      paused.signal("SIGUSR2");
      const ran = await paused.ended;
      assert.match(ran.err, /^ERROR N2I-E300 /m);
      assertSilent(made, ran, words);
      assert.equal(await digest(made.ironic), before);
      await made.ironic
        .db("nodes")
        .where({ [place]: column })
        .delete();
    }
  });
}

for (const engine of engines("mysql", "postgresql")) {
  test(`on ${engine}, a connection cut before the commit leaves nothing, and no secret in the error`, async (t) => {
    const made = await planned(engine, t);
    const before = await digest(made.ironic);
    const words = applying(made, "-q");
    const paused = await pausedAt("commit.before:1", [...words, "--debug"], made.env);
    const open = connectionsOf(engine, made.users.writer ?? "", (work) => work(made.ironic.db));
    assert.ok((await open.kill()) > 0);
    paused.signal("SIGUSR2");
    const ran = await paused.ended;
    assert.equal(ran.status, 5, ran.err);
    assert.match(ran.err, /^ERROR N2I-E301 .*N2I-E2(00|17)/m);
    assertSilent(made, ran, words);
    assert.equal(await digest(made.ironic), before);
    await made.silently(3, words);
  });
}

const FIRST = "a0000000-0000-4000-8000-000000000001";
const SECOND = "a0000000-0000-4000-8000-000000000002";

/** The whole deployment, each BMC's password a canary. */
function caseOf(made: (name: string) => string): Case {
  const given = wholeCase();
  const nodes = given.nova_bm.nodes.map((node) => ({
    ...node,
    pm_password: made(`pm_password ${String(node.id)}`),
  }));
  return { ...given, nova_bm: { ...given.nova_bm, nodes } };
}

/** Puts a canary where nova-baremetal's and Ironic's boot files have the key of a deployment. */
function keysInTrees({ old, tree, watch }: Whole & Secrets): void {
  for (const [at, id] of [1, 2].entries()) {
    const path = join(old, `b0000000-0000-4000-8000-00000000000${id}`, "config");
    const key = watch(canary(`deployment key ${id}`, "")).text;
    writeFileSync(path, readFileSync(path, "utf8").replaceAll(/ONETIMEKEY\w+/g, key));
    if (at > 0) continue;
    // What a takeover left, which is replaced, so that the journal keeps it.
    mkdirSync(join(tree, FIRST));
    for (const name of ["kernel", "ramdisk"]) writeFileSync(join(tree, FIRST, name), name);
    const append = `append initrd=/tftpboot/${FIRST}`;
    writeFileSync(
      join(tree, FIRST, "config"),
      `default deploy\n\nlabel deploy\nkernel /tftpboot/${FIRST}/deploy_kernel\n${append}/deploy_ramdisk deployment_key=${watch(canary("Ironic's key", "")).text}\n\n` +
        `label boot_partition\nkernel /tftpboot/${FIRST}/kernel\n${append}/ramdisk root={{ ROOT }} ro\n`,
    );
  }
}

type Step = readonly [number, readonly string[]];

/** Every command that is newer than the load, in an order that goes through. */
function laterCommands(made: Whole, log: string): readonly Step[] {
  const { at, reader, writer, novaReader, novaWriter, boot, planning, check, run } = made;
  const both = [...at, ...writer, ...novaWriter, "--yes"];
  const release = ["handover", ...at, ...writer, "--yes", "--deadline", "1"];
  return [
    [0, ["plan", ...planning.slice(1), "--diff", "--all", "--debug"]],
    [0, ["show", `${run}/plan`, "--nova", "-f", "json"]],
    [0, [...boot, "--plan", "-f", "json"]],
    [0, ["apply", ...both, "--staged", "--json", "-f", "json"]],
    [0, ["verify", ...at, ...reader, ...novaReader, "--all-rows", "-f", "json", "--debug"]],
    [0, [...boot, "--yes", "--debug"]],
    [0, [...boot, "--verify", "-f", "yaml"]],
    [3, [...release, "--conductor-log", log, "--debug", "-f", "json"]],
    [2, ["verify", ...at, ...reader, "--takeover", "--all-rows", "--json", "-f", "json"]],
    [0, ["status", ...at, "-f", "json"]],
    [0, [...check, "--debug"]],
    [0, [...check, "--json"]],
    [0, ["finish", ...at, ...reader, "--plan", "--debug", "-f", "json"]],
    [0, ["finish", ...at, ...writer, "--yes", "--json", "-f", "json"]],
    [0, ["finish", ...at, ...writer, "--yes", "--undo", "--json", "-f", "json"]],
    [0, ["rollback", ...at, ...reader, ...novaReader, "--all", "--plan", "-f", "json"]],
    [0, [...release, "--undo", "--json", "-f", "json"]],
    [0, [...boot, "--undo", "--yes", "--json", "-f", "json"]],
    [0, ["rollback", ...both, "--all", "--json", "-f", "json"]],
  ];
}

/** With `--json` each line of stderr is JSON, and with `-f json` stdout is. */
function assertReadable({ out, err }: Ran, words: readonly string[]): void {
  const told = `${words.join(" ")}\n${out}${err}`;
  const lines = words.includes("--json") ? err.trimEnd().split("\n") : [];
  const objects = words.includes("--json") && words.includes("json") && out !== "" ? [out] : [];
  for (const text of [...lines, ...objects]) assert.doesNotThrow(() => JSON.parse(text), told);
}

/** Secrets wherever there may be some, TFTP trees among them. */
async function deployed(engine: Engine, t: TestContext) {
  const secrets = await deploySecrets(engine, t, caseOf);
  const plain = caseOf(() => "");
  const made = { ...secrets, ...withTrees(secrets, plain) };
  keysInTrees(made);
  return made;
}

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, check, boot, handover and changes of Nova neither print nor save a secret`, async (t) => {
    const made = await deployed(engine, t);
    const log = join(made.folder, "conductor.log");
    const logged = made.watch(canary("a password a conductor logged", "")).text;
    writeFileSync(log, "");
    assert.equal((await made.tried(made.extract)).status, 0);
    const line = `2024-01-01 10:00:00.000 1 ERROR ironic.drivers [-] take over of ${FIRST}: ipmi_password=${logged}\n`;
    // It follows a log from its end: the quoted line is written while the command waits.
    quickSessions(t, () => appendFileSync(log, line));
    for (const [status, words] of laterCommands(made, log)) {
      const { leaks, ...ran } = await made.tried(words);
      const expected = words[0] === "check" ? [1, 2] : [status];
      assert.ok(expected.includes(ran.status), `${words.join(" ")}\n${ran.out}${ran.err}`);
      assert.deepEqual(leaks, [], words.join(" "));
      assertReadable(ran, words);
      if (words.includes("--conductor-log")) assert.match(ran.out, /take over of .*ipmi_password/);
      if (words.at(-1) === "--debug" && words[0] === "boot")
        assert.deepEqual(searchFiles(made.find, [join(made.tree, SECOND)]), []);
    }
  });

// On Linux: it reads /proc.
for (const engine of engines("mysql"))
  test("running, they have secrets neither in their arguments nor in their environment", async (t) => {
    const made = await deployed(engine, t);
    const { at, writer, novaWriter, boot, planning, env, find } = made;
    const apply = ["apply", ...at, ...writer, ...novaWriter, "--staged", "--yes"];
    for (const words of [made.extract, planning]) assert.equal((await made.tried(words)).status, 0);
    for (const [words, point, status] of [
      [apply, "nova.commit.before", 0],
      [[...boot, "--node", SECOND, "--yes"], "boot.temp", 0],
      [["handover", ...at, ...writer, "--yes", "--deadline", "1"], "clear.committed", 3],
      [["finish", ...at, ...writer, "--yes"], "close.before", 0],
    ] as const) {
      const paused = await pausedAt(`${point}:1`, words, env);
      assert.deepEqual(searchProcess(find, paused.pid, VARIABLE), []);
      paused.signal("SIGUSR2");
      const ran = await paused.ended;
      assert.equal(ran.status, status, ran.err);
    }
  });
