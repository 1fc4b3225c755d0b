import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { EVERY } from "../../src/cli/views/every-row.ts";
import { isObject, type JsonObject } from "../../src/lib/json.ts";
import { type Case, caseUuid } from "../cases/case.ts";
import { writeCase } from "../cases/write-case.ts";
import { refused, runs } from "../hostile/cli.ts";
import { deployFiles, extractAndPlan, privateFolder } from "../hostile/deployment.ts";
import { SMALL } from "../hostile/fleet.ts";

test("the records of a run are shown as tables and in every other format of a list", async (t) => {
  const made = await deployFiles(t, SMALL);
  const { at, writer, run } = made;
  await extractAndPlan(made);
  await runs(0, ["window", "open", ...at]);
  await runs(0, ["apply", ...at, ...writer, "--yes", "-q"]);
  const shown = async (file: string, ...words: readonly string[]): Promise<string> =>
    (await runs(0, ["show", join(run, file), ...words])).out;
  const journal = await shown("journal.jsonl");
  assert.match(journal, /\| begin +\| ironic +\| 0 to 2 +\| [0-9a-f]{12} \|/);
  assert.match(journal, /\| done .* created 4, found 0/);
  const rows = JSON.parse(await shown("journal.jsonl", "-f", "json")) as readonly object[];
  assert.equal(Object.keys(rows[0] ?? {}).join(), "At,What,Part,Of,Plan,By,Details");
  const began = await shown("log.jsonl", "--match", "What=begin", "-f", "value", "-c", "Text");
  assert.match(began, /^nova2ironic extract .*\nnova2ironic plan .*\nnova2ironic window open /);
  assert.match(await shown("log.jsonl", "-f", "csv"), /"end",\d+,"exit 0 done"/);
  for (const window of ["window.jsonl", "window"])
    assert.match(await shown(window, "-c", "What", "-c", "Stage"), /\| begin +\| apply/);
  const nothing = ["show", join(made.folder, "journal.jsonl")];
  await refused(nothing, 64, "N2I-E110", [/does not exist/]);
  await refused(["show", join(run, "log.jsonl"), "--diff", ""], 64, "N2I-E100", [/not a log/]);
});

test("extract, plan and check list what --match wants, and no column they have not", async (t) => {
  const made = await deployFiles(t, SMALL);
  const { at, source, writer, plan } = made;
  const extract = ["extract", ...at, ...source];
  const read = await runs(0, [...extract, "--match", "Task=active"]);
  assert.match(read.out, /^\| +1 \| .*\nSnapshot: 2 machines/ms);
  assert.doesNotMatch(read.out, /^\| +2 \|/m);
  const planned = await runs(0, ["plan", ...at, ...writer, ...plan, "--match", "BM ID=2"]);
  assert.match(planned.out, /^\| +2 \| .*Plan: 2 nodes/ms);
  assert.doesNotMatch(planned.out, /^\| +1 \|/m);
  const check = ["check", ...at, ...source.slice(0, 4), ...writer, "--watch", "0"];
  const checked = await runs(1, [...check, "--match", "Result=Success", "--match", "check=Clock*"]);
  assert.deepEqual(checked.out.match(/Check: \w+/g), ["Check: Clock"]);
  for (const words of [extract, ["plan", ...at, ...writer], check])
    await refused([...words, "--match", "Reslt=x"], words === check ? 255 : 64, "N2I-E100");
});

const DB = { run: "m1", ironicDb: "file:/i.url" };
const AT = "--run m1";

test("the command that lists every row reads, whatever the one that told some of them did", () => {
  assert.deepEqual(
    [
      EVERY.plan(DB),
      EVERY.show({ file: "my run/plan", nova: true }),
      EVERY.verify(DB),
      EVERY.verify({ ...DB, takeover: true }),
      EVERY.handover({ ...DB, ...{ yes: true } }),
      EVERY.finish({ ...DB, undo: true }),
      EVERY.boot({ run: "m1", plan: false }),
      EVERY.rollback({ ...DB, all: true, leaveNova: true }),
    ],
    [
      "nova2ironic show m1/plan --all-rows",
      "nova2ironic show 'my run/plan' --nova --all-rows",
      `nova2ironic verify ${AT} --match 'Result=*'`,
      `nova2ironic verify ${AT} --takeover --match 'State=*'`,
      `nova2ironic verify ${AT} --takeover --match 'State=*'`,
      `nova2ironic finish ${AT} --undo --plan --all-rows`,
      "nova2ironic boot --run m1 --verify --all-rows",
      `nova2ironic rollback ${AT} --all --leave-nova --plan --all-rows`,
    ],
  );
});

test("every nova.conf and every column that is named counts, not only the last", async (t) => {
  const folder = privateFolder(t);
  const { extract } = await writeCase(SMALL, join(folder, "case"));
  const confs = ["compute-7", "compute-8"].map((host) => {
    const path = join(folder, `${host}.conf`);
    writeFileSync(path, "[baremetal]\n", { mode: 0o600 });
    return `${host}=${path}`;
  });
  const run = join(folder, "run");
  const named = confs.flatMap((conf) => ["--nova-conf", conf]);
  await runs(0, ["extract", "--run", run, ...extract, ...named]);
  const header = readFileSync(join(run, "snapshot.jsonl"), "utf8").split("\n")[0] ?? "";
  for (const host of ["compute-7", "compute-8"]) assert.match(header, new RegExp(`"${host}"`));
  const columns = ["-c", "UUID", "-c", "BM ID", "--sort-column", "CPUs", "--sort-column", "BM ID"];
  const { out } = await runs(0, ["show", join(run, "snapshot.jsonl"), "-f", "csv", ...columns]);
  assert.match(out, /^"UUID","BM ID"\r?\n/);
});

test("an option that takes one value is refused when it is given twice", async () => {
  const words = ["status", "--run", "one", "--run", "two"];
  await refused(words, 64, "N2I-E100", [/--run is specified more than once/]);
});

const FORKED: Case = {
  shows: "columns of a fork",
  nova_bm: {
    nodes: [{ id: 1, rack: "r7", api_token: "hunter2" }, { id: 2 }, { id: 3, rack: "r\u00008" }],
    interfaces: [
      { id: 1, bm_node_id: 1, speed: 10 },
      { id: 2, bm_node_id: 1, address: "52:54:00:00:00:99", speed: 40 },
      { id: 3, bm_node_id: 2 },
      { id: 4, bm_node_id: 3 },
    ],
    columns: {
      bm_nodes: { rack: "VARCHAR(20)", api_token: "VARCHAR(20)", colour: "VARCHAR(20)" },
      bm_interfaces: { speed: "INTEGER" },
    },
  },
};

function extraOf(line: JsonObject | undefined, table: "node" | "interfaces"): unknown {
  const rows = [line?.[table]].flat();
  return rows.map((row) => (isObject(row) ? (row.extra ?? null) : "no row"));
}

test("values of unknown columns stand in extra, secrets sealed, and extract counts their machines", async (t) => {
  const folder = privateFolder(t);
  const { extract } = await writeCase(FORKED, join(folder, "case"));
  const run = join(folder, "run");
  const { out } = await runs(0, ["extract", "--run", run, ...extract]);
  const say = (table: string, each: string): string =>
    `Columns of ${table} that no version of nova_bm has, with the number of machines that have a value there: ${each}.\n`;
  assert.ok(out.includes(say("bm_nodes", "api_token 1, colour 0, rack 2")), out);
  assert.ok(out.includes(say("bm_interfaces", "speed 1")), out);
  assert.match(out, /N2I-D009 blocks +1 /, "a NUL there is found as anywhere");

  const text = readFileSync(join(run, "snapshot.jsonl"), "utf8");
  assert.ok(!text.includes("hunter2"));
  // The lines between header and footer, which the tool itself has just written.
  const [one, two, three] = text
    .split("\n")
    .slice(1, 4)
    .map((line) => JSON.parse(line) as JsonObject);
  const [extra] = [extraOf(one, "node")].flat();
  assert.ok(isObject(extra) && isObject(extra.api_token) && extra.rack === "r7");
  assert.equal(extra.api_token.of, caseUuid("node", 1));
  assert.deepEqual(extraOf(one, "interfaces"), [{ speed: 10 }, { speed: 40 }]);
  assert.deepEqual([extraOf(two, "node"), extraOf(two, "interfaces")], [[null], [null]]);
  assert.deepEqual(extraOf(three, "node"), [{ rack: "r\u00008" }]);
});
