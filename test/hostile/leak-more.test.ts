import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Engine } from "../../src/model/database.ts";
import type { Case } from "../cases/case.ts";
import { engines } from "../lab/engines.ts";
import { quickSessions } from "../support/quick-sessions.ts";
import { canary, searchFiles, searchProcess } from "./canaries.ts";
import { pausedAt, type Ran } from "./cli.ts";
import { deploySecrets, type Secrets, VARIABLE } from "./secrets-case.ts";
import { type Whole, wholeCase, withTrees } from "./whole.ts";

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
function everything(made: Whole, log: string): readonly Step[] {
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
  test(`on ${engine}, neither check, boot, release nor what is done in nova shows or keeps a secret`, async (t) => {
    const made = await deployed(engine, t);
    const log = join(made.folder, "conductor.log");
    const logged = made.watch(canary("a password a conductor logged", "")).text;
    writeFileSync(log, "");
    assert.equal((await made.tried(made.extract)).status, 0);
    const line = `2024-01-01 10:00:00.000 1 ERROR ironic.drivers [-] take over of ${FIRST}: ipmi_password=${logged}\n`;
    // It follows a log from its end: the quoted line is written while the command waits.
    quickSessions(t, () => appendFileSync(log, line));
    for (const [status, words] of everything(made, log)) {
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
