import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { WINDOW } from "../../src/cli/options/window.ts";
import { packageRoot } from "../../src/run/files/package-root.ts";
import type { NextCommand } from "../../src/run/next.ts";
import { assertRefusal, type Ran, run, runs } from "../hostile/cli.ts";
import { type Deployment, deployFiles, privateFolder } from "../hostile/deployment.ts";
import { SMALL } from "../hostile/fleet.ts";
import { commandOf } from "../support/command-line.ts";

function keysOf(words: readonly string[]): { [key: string]: string | string[] } {
  const keys: { [key: string]: string | string[] } = {};
  for (let at = 0; at < words.length; at += 2) {
    const key = (words[at] ?? "").slice(2).replaceAll("-", "_");
    const value = words[at + 1] ?? "";
    const before = keys[key];
    keys[key] = before === undefined ? value : [before, value].flat();
  }
  return keys;
}

/** A file of connections beside a deployment, in a folder of its own. */
function fileOf(t: TestContext, keys: object): string {
  const folder = privateFolder(t);
  const path = join(folder, "nova2ironic.yaml");
  writeFileSync(path, JSON.stringify(keys), { mode: 0o600 });
  return path;
}

function connectionsOf(made: Deployment): object {
  const words = [...made.source, ...made.writer, ...made.plan].filter(
    (word) => word !== "--allow-other-nodes",
  );
  return { format: "nova2ironic/connections@1", ...keysOf(["--run", made.run, ...words]) };
}

/** The same deployment, extracted and planned by its file of connections, and the option that names the file. */
async function plannedBy(t: TestContext, more: object = {}) {
  const made = await deployFiles(t, SMALL);
  const config = ["--config", fileOf(t, { ...connectionsOf(made), ...more })];
  const extracted = await runs(0, ["extract", ...config]);
  return { made, config, extracted, planned: await runs(0, ["plan", ...config]) };
}

function nextOf({ err, out }: Ran): readonly string[] {
  return [...`${err}${out}`.matchAll(/^(?:Next|Undo): (.*)$/gm)].map(([, line = ""]) => line);
}

test("with a file of connections a command line is the command and its decisions", async (t) => {
  const bare = { bare: true };
  const { config, extracted } = await plannedBy(t);
  assert.match(extracted.err, /^Connections: .*nova2ironic\.yaml$/m);
  const applied = await runs(0, ["apply", "--yes", "--watch", "0", ...config], bare);
  await runs(0, ["verify", ...config]);
  const state = await runs(0, ["status", ...config]);
  const back = await runs(0, ["rollback", "--all", "--yes", "--watch", "0", ...config], bare);
  for (const ran of [extracted, applied, state, back])
    for (const line of nextOf(ran))
      assert.doesNotMatch(line, /--(config|[a-z-]+-db|site|nova-conf) /, line);
  assert.ok(nextOf(applied).length > 0 && nextOf(state).length > 0);
});

test("a line that is printed does what it says", async (t) => {
  const { planned } = await plannedBy(t);
  const line = nextOf(planned).find((one) => one.includes(" apply ")) ?? "";
  const [, ...words] = line.split("  ")[0]?.split(" ") ?? [];
  await runs(0, [...words, "--yes", "--watch", "0"], { bare: true });
});

test("a word of the command line goes before the file", async (t) => {
  const made = await deployFiles(t, SMALL);
  const elsewhere = join(made.folder, "elsewhere");
  const config = ["--config", fileOf(t, { ...connectionsOf(made), run: elsewhere })];
  await runs(0, ["extract", ...made.at, ...config]);
  // The file's run was never made, and the file's database of Ironic is not looked at.
  assertRefusal(await run(["status", ...config]), 64, "N2I-E110", /elsewhere does not exist/);
  const away = ["--ironic-db", `sqlite:///${join(made.folder, "nobody.sqlite")}`];
  assertRefusal(await run(["plan", ...made.at, ...away, ...config]), 1, "N2I-E200");
  const cloud = await run(["plan", ...made.at, "--os-cloud", "nobody", ...config]);
  assertRefusal(cloud, 64, "N2I-E106");
  assert.doesNotMatch(cloud.err, /are mutually exclusive/);
});

test("no command is refused for what stands in the file and means something else to it", async (t) => {
  const keys = { os_cloud: "nobody", placement_db: "sqlite:////nowhere" };
  const { made, config } = await plannedBy(t, keys);
  // A database of Placement that is not there keeps nobody from what comes next.
  assert.match((await runs(0, ["status", ...config])).err, /^Next: nova2ironic apply /m);
  await runs(0, ["apply", "--yes", "--leave-nova", ...config], { bare: true });
  assert.doesNotMatch((await run(["verify", "--takeover", ...config])).err, /N2I-E100/);
  assert.doesNotMatch(
    (await run(["config", "--ironic-release", "juno", ...config])).err,
    /N2I-E100/,
  );
  assert.doesNotMatch((await run(["finish", "--yes", ...config])).err, /N2I-E100/);
  // The release of a plan goes before that of a file.
  const kilo = ["--config", fileOf(t, { ironic_release: "kilo" })];
  const settings = await runs(0, ["config", "--run", made.run, ...kilo]);
  assert.match(settings.out, /^# Nova of juno, /m);
  const check = await run(["check", "--os-cloud", "nobody", "--watch", "0", ...config]);
  assert.doesNotMatch(check.err, /--ironic-db/);
  const spares = await run(["node", "list", "--spares", "--without", "os-cloud", ...config]);
  assertRefusal(spares, 64, "N2I-E106");
  const unit = await runs(0, ["host", "agent", "--host", "A", "--print-unit", ...config]);
  assert.doesNotMatch(unit.out, / --run /);
  const back = ["rollback", "--all", "--yes", "--leave-nova", "--after-finish"];
  await runs(0, [...back, ...config], { bare: true });
});

test("a copy of Nova's database is not joined by a database that the file names", async (t) => {
  const made = await deployFiles(t, SMALL);
  const config = [
    "--config",
    fileOf(t, { ...connectionsOf(made), nova_api_db: "sqlite:////nowhere" }),
  ];
  await runs(0, ["extract", ...config]);
  const copy = made.novaWriter.slice(0, 2);
  await runs(0, ["plan", ...copy, ...config]);
  assert.notEqual((await run(["plan", ...config])).status, 0);
});

test("an option that needs another has it of the file, too", async (t) => {
  const { made, config } = await plannedBy(t);
  const placement = ["--placement-db", "sqlite:////nowhere"];
  const verified = await run(["verify", ...placement, ...config]);
  assertRefusal(verified, 1, "N2I-E200", /nowhere/);
  // And of what the run keeps.
  assertRefusal(await run(["verify", ...made.at, ...placement]), 1, "N2I-E200", /nowhere/);
});

test("paths are in the file's folder, and hosts may be keys", async (t) => {
  const folder = privateFolder(t);
  mkdirSync(join(folder, "confs"));
  const path = join(folder, "some.yaml");
  const lines = ["run: m1", "nova_bm_db: sqlite:///bm.sqlite"];
  writeFileSync(path, [...lines, "nova_conf: {c1: confs/c1.conf, '*': all.conf}", ""].join("\n"), {
    mode: 0o600,
  });
  writeFileSync(join(folder, "confs", "c1.conf"), "[DEFAULT]\n");
  assertRefusal(
    await run(["extract", "--config", path]),
    64,
    "N2I-E104",
    new RegExp(join(folder, "all.conf")),
  );
});

test("every fault of the file is told at once, and never a password", async (t) => {
  const path = fileOf(t, {
    runn: "m1",
    via: "road",
    insecure: "yes",
    nova_conf: {},
    ironic_db: "",
  });
  const faults = await run(["status", "--run", "m1", "--config", path]);
  assertRefusal(
    faults,
    64,
    "N2I-E108",
    /runn/,
    /\/via/,
    /\/insecure/,
    /\/nova_conf/,
    /\/ironic_db/,
  );
  for (const address of ["mysql://nova:s3cr3t@db/nova", "mysql://nova@db/nova?password=s3cr3t"]) {
    const ran = await run(["status", "--config", fileOf(t, { run: "m1", nova_db: address })]);
    assertRefusal(ran, 64, "N2I-E101", /nova_db: the address contains a password/);
    assert.doesNotMatch(ran.err, /s3cr3t/);
  }
  assertRefusal(await run(["status", "--config", "/nowhere.yaml"]), 64, "N2I-E108", /ENOENT/);
});

test("a wrong command line is one with a file too", async (t) => {
  const config = ["--config", fileOf(t, { run: "m1" })];
  assertRefusal(await run(["status", "surplus", ...config]), 64, "N2I-E100", /surplus/);
  assertRefusal(await run(["plan", "--progress-interval", "soon", ...config]), 64, "N2I-E100");
});

test("a file that others may write to says nothing about where to write", async (t) => {
  const path = fileOf(t, { run: "m1" });
  for (const [mode, who] of [
    [0o666, /every user may write to it/],
    [0o620, /its group may write to it/],
  ] as const) {
    chmodSync(path, mode);
    assertRefusal(await run(["status", "--config", path]), 64, "N2I-E108", who);
  }
});

test("it is found in the folder, or where a variable says; what has no run does not read it", async (t) => {
  const path = fileOf(t, { run: "nowhere" });
  const cwd = join(path, "..");
  for (const where of [{ cwd }, { env: { NOVA2IRONIC_CONFIG: path } }]) {
    const ran = await run(["status"], where);
    assertRefusal(ran, 64, "N2I-E110", /nowhere does not exist/);
  }
  writeFileSync(path, "runn: 1\n");
  await runs(0, ["explain", "N2I-E108"], { cwd });
});

test("every key is an option of some command", async () => {
  const path = join(packageRoot(), "mappings", "schema", "connections.schema.json");
  const { properties } = JSON.parse(readFileSync(path, "utf8")) as { readonly properties: object };
  const names: readonly NextCommand[] = ["extract", "power", "plan", "apply", "verify", "run"];
  const commands = [WINDOW.check, ...(await Promise.all(names.map(commandOf)))];
  const known = new Set(commands.flatMap(({ options = {} }) => Object.keys(options)));
  const keys = Object.keys(properties).filter((key) => !/^(\$schema|format|decisions)$/.test(key));
  const missing = keys
    .map((key) => key.replaceAll("_", "-"))
    .filter((option) => !known.has(option) && option !== "conductor-tftp-root");
  assert.deepEqual(missing, []);
});
