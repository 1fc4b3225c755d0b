import assert from "node:assert/strict";
import { appendFileSync, chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { packageRoot } from "../../src/run/files/package-root.ts";
import { OPTIONS } from "../../src/run/next.ts";
import { assertRefusal, refused, run, runs } from "../hostile/cli.ts";
import { type Deployment, deployFiles, privateFolder } from "../hostile/deployment.ts";
import { SMALL } from "../hostile/fleet.ts";

const BARE = { bare: true };

function novaOf({ source }: Deployment): readonly string[] {
  const at = source.indexOf("--nova-db");
  return source.slice(at, at + 2);
}

async function planned(made: Deployment, ...more: readonly string[]): Promise<void> {
  const { at, source, writer, plan } = made;
  await runs(0, ["extract", ...at, ...source]);
  await runs(0, ["plan", ...at, ...writer, ...plan, ...more]);
}

function linesOf(text: string): readonly (readonly string[])[] {
  const lines = [...text.matchAll(/^(?:Next|Undo): nova2ironic (.*)$/gm)];
  return lines.map(([, line = ""]) => line.split("  ")[0]?.split(" ") ?? []);
}

test("what a command was told once, later commands have of --run alone, and so has each line they end with", async (t) => {
  const made = await deployFiles(t, SMALL);
  const { at } = made;
  await planned(made, ...novaOf(made));
  const applied = await runs(0, ["apply", ...at, "--yes", "--watch", "0"], BARE);
  assert.match(applied.err, /^Connections: .*run\/connections\.yaml$/m);
  const verified = await runs(0, ["verify", ...at]);
  assert.match(verified.err, /instances|hypervisor/);
  const state = await runs(0, ["status", ...at]);
  for (const line of [...linesOf(applied.err), ...linesOf(state.err)])
    assert.doesNotMatch(line.slice(3).join(" "), /-db|--site|--via/);
  const undo = linesOf(applied.err).find(([name]) => name === "rollback") ?? [];
  await runs(0, undo, BARE);
  await runs(0, ["rollback", ...at, "--all", "--yes", "--watch", "0"], BARE);
  await runs(0, ["plan", ...at]);
  const { mode } = statSync(join(made.run, "connections.yaml"));
  assert.equal(mode & 0o777, 0o600);
});

function takenBy({ err }: { readonly err: string }): readonly string[] {
  const [, names = ""] = /^Connections: \S+connections\.yaml: (.*)$/m.exec(err) ?? [];
  return names.split(", ");
}

test("an option that is given is joined by the others that the run keeps, and each of them is named", async (t) => {
  const made = await deployFiles(t, SMALL);
  const { at, writer, plan } = made;
  await runs(0, ["extract", ...at, ...made.source]);
  // Extract named Nova; a first plan has it by that.
  const first = await runs(0, ["plan", ...at, ...writer, ...plan], BARE);
  assert.deepEqual(takenBy(first), ["nova-db"]);
  assert.doesNotMatch(first.err, /No Nova database/);
  const again = await runs(0, ["plan", ...at, ...writer, ...novaOf(made)]);
  assert.match(takenBy(again).join(), /site/);
  assert.doesNotMatch(
    (await run(["check", ...at, ...writer, "--watch", "0"])).out,
    /Nova was not read/,
  );
  await runs(0, ["apply", ...at, ...writer, "--yes", "--watch", "0"], BARE);
  await made.nova.db("instances").update({ host: "evil" });
  const verified = await run(["verify", ...at, ...writer]);
  assert.equal(verified.status, 2, verified.err);
  assert.match(verified.err, /[1-9]\d* mismatched/);
  const without = await runs(0, ["verify", ...at, ...writer, "--without", "nova-db"]);
  assert.match(without.err, /^Nova was not compared, although the plan includes it/m);
});

test("another database than the run's is joined by no other of the run's, and each that is left out is named", async (t) => {
  const made = await deployFiles(t, SMALL);
  const other = await deployFiles(t, SMALL);
  const { at, writer } = made;
  await planned(made, ...novaOf(made));
  const bm = other.source.slice(0, 2);
  const read = await runs(0, ["extract", ...at, ...bm]);
  assert.match(
    read.err,
    /^Connections: .*: without nova-db, nova-conf, because --nova-bm-db differs from the run$/m,
  );
  // Nor by a later command.
  const saved = readFileSync(join(made.run, "connections.yaml"), "utf8");
  assert.doesNotMatch(saved, /^nova_(db|conf)/m);
  await planned(made, ...novaOf(made));
  const elsewhere = await runs(0, ["plan", ...at, ...other.writer], BARE);
  assert.match(
    elsewhere.err,
    /^Connections: .*; without nova-db, because --ironic-db differs from the run$/m,
  );
  assert.match(elsewhere.err, /No Nova database was specified/);
  // What has a plan holds each database against it.
  await runs(0, ["extract", ...at, ...made.source]);
  await runs(0, ["plan", ...at, ...writer, ...novaOf(made)]);
  const words = ["--yes", "--watch", "0"];
  await refused(["apply", ...at, ...other.writer, ...words], 4, "N2I-E300", [], BARE);
  await refused(["apply", ...at, ...novaOf(other), ...words], 4, "N2I-E300", [], BARE);
  // Nor has another Nova what stands beside the run's.
  appendFileSync(
    join(made.run, "connections.yaml"),
    "nova_api_db: sqlite:////nowhere\ncompute_host: [new]\n",
  );
  const nova = await run(["plan", ...at, ...novaOf(other)]);
  const beside =
    /^Connections: .*; without nova-api-db, compute-host, because --nova-db differs from the run$/m;
  assert.match(nova.err, beside);
});

test("a plan without Nova is applied and verified without, whatever is named beside it", async (t) => {
  const made = await deployFiles(t, SMALL);
  const { at, writer } = made;
  await planned(made, "--without", "nova-db");
  await refused(["apply", ...at, "--yes"], 4, "N2I-E311", [/made without nova/], BARE);
  await refused(["apply", ...at, ...writer, "--yes"], 4, "N2I-E311", [/made without nova/], BARE);
  await runs(0, ["apply", ...at, "--yes", "--leave-nova"], BARE);
  assert.doesNotMatch((await runs(0, ["verify", ...at])).err, /N2I-E|hypervisor/);
  const away = ["rollback", ...at, ...writer, "--all", "--yes", "--without", "nova-db"];
  await refused(away, 4, "N2I-E311", [], BARE);
  const alone = await run(["rollback", ...at, ...novaOf(made), "--all", "--yes", "--watch", "0"]);
  assert.match(
    alone.err,
    /^Connections: .*without ironic-db, because only --nova-db is specified$/m,
  );
});

test("--without leaves out what the run or a file says", async (t) => {
  const made = await deployFiles(t, SMALL);
  const { at } = made;
  await planned(made, ...novaOf(made));
  const without = ["--without", "nova-db"];
  assert.match((await runs(0, ["plan", ...at, ...without])).err, /No Nova database was specified/);
  await refused(["plan", ...at, "--without", "ironic-db"], 64, "N2I-E100", [/location of Ironic/]);
  await refused(["plan", ...at, "--without", "nova"], 64, "N2I-E100", [/nova-db/]);
});

test("the command line goes before nova2ironic.yaml, and that before what the run keeps", async (t) => {
  const made = await deployFiles(t, SMALL);
  const { at } = made;
  await planned(made, ...novaOf(made));
  const folder = privateFolder(t);
  const nobody = (name: string): string => `sqlite:///${join(folder, name)}`;
  const config = join(folder, "nova2ironic.yaml");
  writeFileSync(config, JSON.stringify({ ironic_db: nobody("file.sqlite") }), { mode: 0o600 });
  const asked = await run(["plan", ...at, "--config", config]);
  assertRefusal(asked, 1, "N2I-E200", /file\.sqlite/);
  const words = ["--config", config, "--ironic-db", nobody("word.sqlite")];
  assertRefusal(await run(["plan", ...at, ...words]), 1, "N2I-E200", /word\.sqlite/);
  // What was refused is not kept.
  assert.doesNotMatch(readFileSync(join(made.run, "connections.yaml"), "utf8"), /word\.sqlite/);
});

test("another database under a plan is stale, wherever it is named", async (t) => {
  const made = await deployFiles(t, SMALL);
  const other = await deployFiles(t, SMALL);
  await planned(made, ...novaOf(made));
  const kept = join(made.run, "connections.yaml");
  const text = readFileSync(kept, "utf8").replace(/^ironic_db: .*$/m, "ironic_db: URL");
  writeFileSync(kept, text.replace("URL", other.writer[1] ?? ""));
  await refused(["apply", ...made.at, "--yes", "--watch", "0"], 4, "N2I-E300", [], BARE);
});

test("a file of the run that somebody edited is checked as the operator's own", async (t) => {
  const made = await deployFiles(t, SMALL);
  await planned(made, ...novaOf(made));
  const kept = join(made.run, "connections.yaml");
  const whole = readFileSync(kept, "utf8");
  await refused(["extract", ...made.at, "--nova-bm-db", made.source[3] ?? ""], 4, "N2I-E202", []);
  assert.equal(readFileSync(kept, "utf8"), whole);
  writeFileSync(kept, whole.replace(/^nova_db: .*$/m, "nova_db: mysql://nova:s3cr3t@db/nova"));
  const ran = await run(["status", ...made.at]);
  assertRefusal(ran, 64, "N2I-E101", /nova_db: the address contains a password/);
  assert.doesNotMatch(ran.err, /s3cr3t/);
  writeFileSync(kept, `${whole}novadb: x\n`);
  assertRefusal(await run(["status", ...made.at]), 64, "N2I-E108", /novadb/);
  writeFileSync(kept, whole);
  chmodSync(kept, 0o666);
  assertRefusal(await run(["status", ...made.at]), 64, "N2I-E108", /every user may write/);
  // What a person added stays when a command is told something else.
  chmodSync(kept, 0o600);
  appendFileSync(kept, "placement_db: file:/root/placement.url\n");
  await runs(0, ["plan", ...made.at]);
  assert.match(readFileSync(kept, "utf8"), /placement_db: "file:\/root\/placement.url"/);
});

test("verify looks at no Nova that nova2ironic.yaml names where the plan is without", async (t) => {
  const made = await deployFiles(t, SMALL);
  await planned(made);
  await runs(0, ["apply", ...made.at, "--yes", "--leave-nova"], BARE);
  const config = join(privateFolder(t), "nova2ironic.yaml");
  const [, nova] = novaOf(made);
  writeFileSync(config, JSON.stringify({ nova_db: nova }), { mode: 0o600 });
  const ran = await runs(0, ["verify", ...made.at, "--config", config]);
  assert.match(ran.err, /^The plan was made without Nova, so verify does not compare Nova\.$/m);
  // Named by a word, it is asked for.
  await refused(["verify", ...made.at, ...made.writer, ...novaOf(made)], 4, "N2I-E114");
});

test("a run may keep whatever the file of connections may say", () => {
  const path = join(packageRoot(), "mappings", "schema", "connections.schema.json");
  const { properties } = JSON.parse(readFileSync(path, "utf8")) as { readonly properties: object };
  const keys = Object.keys(properties).filter(
    (key) => !/^(\$schema|format|run|decisions)$/.test(key),
  );
  assert.deepEqual(
    keys.map((key) => key.replaceAll("_", "-")).toSorted(),
    OPTIONS.connections.toSorted(),
  );
});
