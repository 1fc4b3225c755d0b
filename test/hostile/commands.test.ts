import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { assertRefusal, refused, run, runs } from "./cli.ts";
import { deployFiles, extractAndPlan } from "./deployment.ts";
import { digests, treeOf } from "./digest.ts";
import { SITE, SMALL } from "./fleet.ts";
import { plannedWhole, type Whole } from "./whole.ts";

type Wrong = readonly [number, string, RegExp, readonly string[]];

function wrong(made: Whole): readonly Wrong[] {
  const { at, tree, old, reader, writer, novaReader, source, folder, check, boot, planning } = made;
  const bare = ["boot", ...at, "--from", old, "--tftp-root"];
  const nowhere = ["--without", "ironic-db"];
  const release = ["handover", ...at, ...writer, "--yes"];
  const finish = ["finish", ...at, ...writer];
  const verify = ["verify", ...at, ...reader];
  const extract = ["extract", "--run", join(folder, "another")];
  const bmDb = source.slice(0, 2);
  const [bm, nova, ironic] = [source[1] ?? "", source[3] ?? "", reader[1] ?? ""];
  const twice = ["--from", `h=${old}`, "--from", `h=${old}`];
  const repaints = ["--node", "\u001b[2J"];
  const noNova = /not a nova database/;
  return [
    [64, "N2I-E100", /takes a folder/, [...bare, "", "--yes"]],
    [64, "N2I-E410", /not a folder/, [...bare, join(folder, "site.json"), "--yes"]],
    [64, "N2I-E410", /ENOENT/, [...bare, `other=${tree}`, "--yes"]],
    [64, "N2I-E100", /specifies h more/, [...boot, ...twice, "--plan"]],
    [64, "N2I-E100", /are mutually exclusive/, [...boot, "--verify", "--undo"]],
    [64, "N2I-E100", /--served-as takes/, [...bare, tree, "--served-as", "", "--yes"]],
    [64, "N2I-E100", /--served-as takes/, [...bare, tree, "--served-as", "tftpboot", "--yes"]],
    [64, "N2I-E100", /--served-as takes/, [...bare, tree, "--served-as", "/x\nkernel y", "--yes"]],
    [64, "N2I-E100", /path of --tftp-root/, [...bare, join(folder, "a tree"), "--yes"]],
    [64, "N2I-E306", /"\\u001b\[2j" is not in the plan/, [...boot, ...repaints, "--plan"]],
    [64, "N2I-E306", /"" is not in the plan/, [...release, "--node", ""]],
    [4, "N2I-E303", /--yes/, ["handover", ...at, ...writer]],
    [64, "N2I-E100", /--in-flight takes a number, 1 or more/, [...release, "--in-flight", "0"]],
    [64, "N2I-E100", /--deadline takes a number/, [...release, "--deadline", "-1"]],
    [64, "N2I-E105", /ENOENT/, [...release, "--conductor-log", "/nowhere/log"]],
    [64, "N2I-E105", /not a regular file/, [...release, "--conductor-log", "/dev/zero"]],
    [64, "N2I-E100", /nova-db/, ["handover", ...at, ...novaReader, "--yes"]],
    [64, "N2I-E100", /ironic-db/, ["handover", ...at, ...nowhere, "--yes"]],
    [4, "N2I-E320", /has not loaded any machine/, [...finish, "--yes"]],
    [4, "N2I-E320", /has not loaded any machine/, [...finish, "--undo", "--yes"]],
    [4, "N2I-E320", /has not loaded any machine/, ["finish", ...at, ...reader, "--plan"]],
    [64, "N2I-E100", /nova-db/, [...finish, ...novaReader, "--yes"]],
    [64, "N2I-E100", /--takeover needs --ironic-db/, ["verify", ...at, ...nowhere, "--takeover"]],
    [64, "N2I-E100", /--takeover and --nova-db/, [...verify, "--takeover", ...novaReader]],
    [64, "N2I-E100", /N2I-D9999/, ["explain", "N2I-D208", "N2I-D9999"]],
    [64, "N2I-E100", /""/, ["explain", ""]],
    [64, "N2I-E101", /--ironic-url: .*password/, ["plan", ...at, "--ironic-url", "http://u:p@h"]],
    [255, "N2I-E100", /--watch takes a number/, check.with(check.indexOf("0"), "soon")],
    [255, "N2I-E100", /--watch takes a number/, check.with(check.indexOf("0"), "")],
    [64, "N2I-E100", /--in-flight takes a number/, [...finish, "--yes", "--in-flight= "]],
    [64, "N2I-E100", /no option --nova-bm-db/, [...verify, "--nova-bm-db", "file:x"]],
    [255, "N2I-E100", /nova-bm-db/, ["check", ...at, ...reader, "--without", "nova-bm-db"]],
    [255, "N2I-E110", /is not a folder/, ["check", "--run", "/dev/null", ...check.slice(3)]],
    // Addresses of one another.
    [4, "N2I-E202", /is not an Ironic/, ["handover", ...at, "--ironic-db", bm, "--yes"]],
    [4, "N2I-E202", /is not an Ironic/, ["verify", ...at, "--takeover", "--ironic-db", nova]],
    [4, "N2I-E202", noNova, planning.map((word) => (word === nova ? ironic : word))],
    [4, "N2I-E202", noNova, [...verify, "--nova-db", bm]],
    [4, "N2I-E202", /is a nova database/, [...extract, "--nova-bm-db", nova]],
    [4, "N2I-E202", /is an Ironic d/, [...extract, "--nova-bm-db", ironic]],
    [4, "N2I-E202", /--nova-db .* not a nova d/, [...extract, ...bmDb, "--nova-db", ironic]],
    [4, "N2I-E202", noNova, ["apply", ...at, ...writer, "--nova-db", writer[1] ?? "", "--yes"]],
  ];
}

/** Each is refused as it says, and nothing is written. */
async function allRefused(made: Whole, commands: readonly Wrong[]): Promise<void> {
  const seen = async () => [await digests(made), treeOf(made.run), made.trees()];
  const before = await seen();
  for (const [status, code, saying, words] of commands)
    await refused([...words, "-q"], status, code, [saying]);
  assert.deepEqual(await seen(), before);
}

test("what is wrong with a new command's words is one paragraph with its code, and nothing is written", async (t) => {
  const made = await plannedWhole("sqlite", t);
  mkdirSync(join(made.folder, "a tree"));
  await allRefused(made, wrong(made));
});

function wrongLater({ at, reader, writer, source }: Whole): readonly Wrong[] {
  const finish = ["finish", ...at, ...writer];
  const nowhere = ["--without", "ironic-db"];
  const isNot = /is not an Ironic/;
  return [
    [4, "N2I-E303", /--yes/, finish],
    [4, "N2I-E303", /--yes/, [...finish, "--undo"]],
    [64, "N2I-E306", /"" is not in the plan/, [...finish, "--yes", "--node", ""]],
    [64, "N2I-E306", /"\\u001b\[2j" is/, [...finish, "--undo", "--plan", "--node", "\u001b[2J"]],
    [64, "N2I-E100", /--lock-wait takes a number/, [...finish, "--yes", "--lock-wait", "-1"]],
    [4, "N2I-E202", isNot, ["finish", ...at, "--ironic-db", source[3] ?? "", "--yes"]],
    [4, "N2I-E202", isNot, ["finish", ...at, "--undo", "--plan", "--ironic-db", source[1] ?? ""]],
    [64, "N2I-E100", /location of Ironic/, ["finish", ...at, ...nowhere, "--yes"]],
    [64, "N2I-E110", /nowhere/, ["finish", "--run", "/nowhere", ...reader, "--plan"]],
  ];
}

test("what is wrong with finish's words is one paragraph with its code too, and nothing is written", async (t) => {
  const made = await plannedWhole("sqlite", t);
  await runs(0, ["apply", ...made.at, ...made.writer, ...made.novaWriter, "--yes", "-q"]);
  await allRefused(made, wrongLater(made));
});

test("addresses that are swapped are rows of check's table, and it says which", async (t) => {
  const made = await plannedWhole("sqlite", t);
  const before = await digests(made);
  const { at, source, reader } = made;
  const [bm, nova, ironic] = [source[1] ?? "", source[3] ?? "", reader[1] ?? ""];
  for (const [given, saying] of [
    [[nova, nova, ironic], /--nova-bm-db .* is a\s+.*nova\s+.*database/s],
    [[bm, ironic, ironic], /--nova-db .* is not/s],
    [[bm, nova, bm], /--ironic-db .* is not/s],
    [[ironic, bm, nova], /--nova-bm-db .* is[\s|]+an[\s|]+Ironic/s],
  ] as const) {
    const words = ["--nova-bm-db", given[0], "--nova-db", given[1], "--ironic-db", given[2]];
    const { status, out, err } = await run(["check", ...at, ...words, "--watch", "0"]);
    assert.equal(status, 2, out + err);
    assert.match(out, saying);
  }
  assert.deepEqual(await digests(made), before);
});

/**
 * How a command ends that has nothing to do or to compare: text is why it compares nothing, ever; as a gate it
 * refuses with the code, since equal would be true of nothing; or it ends with the status and says so.
 */
type End =
  | string
  | readonly [refuses: "N2I-E320" | "N2I-E325" | "N2I-E326", words: readonly string[]]
  | readonly [status: number, says: RegExp, words: readonly string[]];

test("no command ends well on a plan that loads no machine without saying that there was none", async (t) => {
  const skipped = { ...SITE, machines: [{ match: {}, skip: "none of them is to move" }] };
  const made = await deployFiles(t, { ...SMALL, site: skipped });
  const { at, source, reader, writer, novaWriter, folder, nova, ironic } = made;
  const nothing = join(folder, "tree");
  mkdirSync(nothing);
  await extractAndPlan(made, ...source.slice(2, 4));
  const boot = ["boot", ...at, "--tftp-root", nothing];
  const on = (command: string, ...more: readonly string[]) => [command, ...at, ...more];
  const checking = on("check", ...source.slice(0, 4), ...reader, "--watch", "0");
  const left = ["--leave-nova", "--skip-blocked", "--yes"];
  const ends: { readonly [command: string]: readonly End[] } = {
    extract: ["reads; a source without machines is told with its count"],
    plan: ["shows; verdicts are counted"],
    show: ["shows what a file holds"],
    report: [[0, /Not ready: the plan loads no machine/, on("report", "--format", "md")]],
    config: ["compares settings, of which a release always has some"],
    explain: ["shows"],
    demo: ["has machines of its own"],
    support: ["packs files"],
    completion: ["shows"],
    power: ["asks every machine of the snapshot: it knows no plan"],
    check: [[2, /The plan does not load any machine/, checking]],
    rehearse: [["N2I-E325", on("rehearse", ...writer, "--yes")]],
    apply: [
      ["N2I-E325", on("apply", ...writer, ...novaWriter, "--yes")],
      ["N2I-E325", on("apply", ...writer, ...left)],
    ],
    verify: [
      ["N2I-E326", on("verify", ...reader)],
      ["N2I-E326", on("verify", ...reader, ...source.slice(2, 4), "--final")],
      ["N2I-E326", on("verify", ...reader, "--takeover")],
    ],
    handover: [["N2I-E326", on("handover", ...writer, "--yes")]],
    finish: [["N2I-E320", on("finish", ...writer, "--yes")]],
    retire: [["N2I-E326", on("retire", ...source.slice(0, 2), ...reader)]],
    boot: [
      ["N2I-E326", [...boot, "--verify"]],
      [0, /no machine has an instance/, [...boot, "--yes"]],
      [0, /this run has no boot files/, [...boot, "--undo", "--yes"]],
    ],
    rollback: [
      [
        0,
        /this run has not loaded any machine/,
        on("rollback", ...writer, ...novaWriter, "--all", "--yes"),
      ],
    ],
    next: [[0, /loads none of its/, on("next")]],
    run: [[4, /N2I-E328 .*loads none of its/, on("run", "--yes", "--wait", "0")]],
    host: ["moves machines of Nova, in runs of its own; one without machines is told"],
    node: ["gives machines of Ironic a record, in runs of its own; it reads no plan"],
    serve: ["serves what Ironic has; a list without nodes is one"],
    window: [[0, /No window is open/, ["window", "close", ...at]]],
    status: [[0, /nothing was loaded/, on("status")]],
  };
  // A new command has its row here before it is believed.
  const { out } = await runs(0, ["--help"]);
  const commands = [...out.matchAll(/^ {2}\S*nova2ironic (\w+)/gm)].map(([, name]) => name ?? "");
  const missing = commands.filter((name) => ends[name] === undefined);
  assert.deepEqual(missing, [], out);

  const [specs, nodes] = [() => nova.db("instance_type_extra_specs"), () => ironic.db("nodes")];
  const before = JSON.stringify([await specs(), await nodes()]);
  for (const row of Object.values(ends).flat()) {
    if (typeof row === "string") continue;
    if (row.length === 2) {
      const [code, words] = row;
      assertRefusal({ ...(await run([...words, "-q"])), out: "" }, 4, code);
      continue;
    }
    const [status, says, words] = row;
    const ran = await runs(status, words);
    assert.match(`${ran.out}${ran.err}`, says, words.join(" "));
  }
  assert.equal(JSON.stringify([await specs(), await nodes()]), before);
});
