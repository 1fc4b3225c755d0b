import assert from "node:assert/strict";
import { linkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { canary } from "../../hostile/canaries.ts";
import { killedAt, refused, run, runs } from "../../hostile/cli.ts";
import type { Deployment } from "../../hostile/deployment.ts";
import { digest } from "../../hostile/digest.ts";
import { SITE, tenant } from "../../hostile/fleet.ts";
import { deploySecrets } from "../../hostile/secrets-case.ts";
import { engines, test } from "../../lab/engines.ts";
import { addressFile } from "../../lab/index.ts";
import { laterCloud } from "../../migrate/nova/later.ts";
import { plannedCloud } from "../../migrate/nova/planned.ts";
import { ago } from "../../takeover/cloud.ts";
import { foundIn, rehearsing, restored } from "./scene.ts";

const ITSELF = /is the database that the plan was made for/;

for (const engine of engines())
  test(`on ${engine}, the plan's own databases are refused, and nothing is written`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { at, writer, novaWriter, nova, ironic } = made;
    const before = [await digest(nova), await digest(ironic)];
    await refused(["rehearse", ...at, ...writer, "--yes"], 4, "N2I-E351", [ITSELF]);
    const { url } = await restored(t, made, ironic);
    const words = ["rehearse", ...at, "--ironic-db", url, ...novaWriter.slice(0, 2), "--yes"];
    await refused(words, 4, "N2I-E351", [/--nova-db .* is the database that the plan/]);
    assert.deepEqual([await digest(nova), await digest(ironic)], before);
  });

test("the plan's own database is refused under other names of its file", async (t) => {
  const { at, ironic, folder } = await rehearsing("sqlite", t);
  const [soft, hard] = [join(folder, "soft.sqlite"), join(folder, "hard.sqlite")];
  symlinkSync(ironic.name, soft);
  linkSync(ironic.name, hard);
  for (const path of [soft, hard]) {
    const words = ["rehearse", ...at, "--ironic-db", `sqlite:///${path}`, "--yes"];
    await refused(words, 4, "N2I-E351", [ITSELF]);
  }
});

for (const engine of engines("mysql", "postgresql"))
  test(`on ${engine}, the plan's own database is refused by another address of its server`, async (t) => {
    const { at, ironic, folder } = await rehearsing(engine, t);
    const { server, name } = ironic;
    assert.ok(server);
    const other = server.url(name).replace("127.0.0.1", "localhost");
    const socket =
      engine === "mysql"
        ? `mysql://${server.user}:${server.password}@localhost/${name}?unix_socket=${server.socket}`
        : `postgresql://${server.user}:${server.password}@/${name}?host=${server.socket}&port=${server.port}`;
    for (const [at_, url] of [other, socket].entries()) {
      const file = addressFile(folder, `other-${at_}`, url);
      const words = ["rehearse", ...at, "--ironic-db", file, "--yes"];
      await refused(words, 4, "N2I-E351", [ITSELF]);
    }
  });

for (const engine of engines())
  test(`on ${engine}, a database with a conductor that reported within a minute is refused`, async (t) => {
    const { words, copy } = await rehearsing(engine, t);
    const beat = (updated_at: string) => copy.db("conductors").update({ updated_at });
    await copy.db("conductors").insert({ hostname: "alive", drivers: "[]", online: true });
    await beat(ago(0));
    const before = await digest(copy);
    await refused([...words, "--yes"], 4, "N2I-E351", [/ironic-conductor alive .*last minute/]);
    assert.equal(await digest(copy), before);
    await beat("2014-06-01 12:00:00");
    await runs(0, [...words, "--yes"]);
  });

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, a database with a nova-compute that reported within a minute is refused`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { url } = await restored(t, made, made.ironic);
    const nova = await restored(t, made, made.nova);
    await nova.copy.db("services").update({ updated_at: ago(0) });
    const words = ["rehearse", ...made.at, "--ironic-db", url, "--nova-db", nova.url, "--yes"];
    await refused(words, 4, "N2I-E351", [/--nova-db .* nova-compute \S+/]);
  });

test("a file of connections names no copy: its databases are not used", async (t) => {
  const { at, folder, reader } = await rehearsing("sqlite", t);
  const config = join(folder, "nova2ironic.yaml");
  writeFileSync(config, `ironic_db: ${reader[1]}\n`, { mode: 0o600 });
  const words = ["rehearse", ...at, "--config", config, "--yes"];
  await refused(words, 4, "N2I-E352", [/copy of Ironic.s database is missing \(--ironic-db\)/]);
});

test("a folder of the rehearsal's name that it did not make is not removed", async (t) => {
  const { words, run } = await rehearsing("sqlite", t);
  writeFileSync(join(run, "rehearsal"), "theirs");
  await refused([...words, "--yes"], 64, "N2I-E110", [/was not created by a rehearsal/]);
});

const STAGES = ["apply", "verify", "rollback", "apply again", "verify again"];

for (const engine of engines())
  test(`on ${engine}, a restored backup is loaded, rolled back and loaded, and Ironic stays as it was`, async (t) => {
    const { words, dump, found, copy } = await rehearsing(engine, t);
    const before = await dump();
    const { out, err } = await runs(0, [...words, "--yes", "-f", "json"]);
    assert.equal(await dump(), before);
    const rows = JSON.parse(out) as { Stage: string; Rows: number; Result: string }[];
    const stages = rows.map(({ Stage, Rows, Result }) => `${Stage}: ${Rows} ${Result}`);
    assert.equal(stages.join(), STAGES.map((stage) => `${stage}: 4 done`).join(), `${out}${err}`);
    assert.match(err, /^Rollback: every row in the copies is the same as before\.$/m);
    assert.match(err.replaceAll("\n", " "), /Drop the copies, which contain passwords: /);
    assert.equal(found().held, true);
    assert.notEqual(await digest(copy), before);
  });

test("a rehearsal that was killed is run again on a copy that is restored again", async (t) => {
  const made = await rehearsing("sqlite", t);
  const { at, dump, found } = made;
  const before = await dump();
  const words = async () => {
    const { url } = await restored(t, made, made.ironic);
    return ["rehearse", ...at, "--ironic-db", url, "--yes", "-q"];
  };
  for (const point of ["commit.before", "commit.after"]) {
    await killedAt(`${point}:1`, await words());
    assert.equal(await dump(), before, point);
    await runs(0, await words());
    assert.equal(found().held, true);
  }
});

async function wordsOf(t: TestContext, made: Deployment): Promise<readonly string[]> {
  const { at, ironic, nova } = made;
  return [
    ...["rehearse", ...at, "--ironic-db", (await restored(t, made, ironic)).url],
    ...["--nova-db", (await restored(t, made, nova)).url, "--yes"],
  ];
}

for (const engine of engines())
  test(`on ${engine}, a plan's rows of nova are changed and rolled back on a copy, and nova stays as it was`, async (t) => {
    const made = await plannedCloud(engine, t);
    const { nova, ironic } = made;
    const before = [await digest(nova), await digest(ironic)];
    const { err, out } = await runs(0, [...(await wordsOf(t, made)), "-f", "json"]);
    const { held, nova: rows, stages } = foundIn(made);
    assert.equal(held, true, err);
    assert.ok(rows.rows > 10, JSON.stringify(rows));
    assert.deepEqual([rows.left, rows.why], [0, null]);
    assert.match(err, new RegExp(`^Nova: ${rows.rows} rows were changed on a copy`, "m"));
    assert.match(err, /^Rollback: every row in the copies is the same as before\.$/m);
    const written = stages.filter(({ stage }) => /^(apply|rollback)/.test(stage));
    assert.equal(new Set(written.map(({ rows: count }) => count)).size, 1, out);
    const done = stages.map(({ stage, result }) => `${stage} ${result}`);
    assert.equal(done.join(), STAGES.map((stage) => `${stage} done`).join());
    assert.deepEqual([await digest(nova), await digest(ironic)], before);
  });

test("a nova-compute that reported shortly before the backup is no fault", async (t) => {
  const made = await laterCloud("sqlite", t, ["--flavor-images", "delete"]);
  const [ironic, nova, api] = [
    await restored(t, made, made.ironic),
    await restored(t, made, made.nova),
    await restored(t, made, made.api),
  ];
  const then = new Date(Date.now() - 90_000).toISOString().slice(0, 19).replace("T", " ");
  await nova.copy.db("services").update({ last_seen_up: then });
  const copies = ["--ironic-db", ironic.url, "--nova-db", nova.url, "--nova-api-db", api.url];
  await runs(0, ["rehearse", ...made.at, ...copies, "--yes"]);
  assert.deepEqual([foundIn(made).held, foundIn(made).nova.left], [true, 0]);
});

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, extra specs of nova_api are rehearsed on a copy of their own`, async (t) => {
    const made = await laterCloud(engine, t, ["--flavor-images", "delete"]);
    const databases = [made.nova, made.api, made.ironic];
    const before = await Promise.all(databases.map(digest));
    await runs(3, await wordsOf(t, made));
    const why = "--nova-api-db is not specified";
    assert.deepEqual(foundIn(made).nova, { rows: 12, left: 12, why });
    const api = ["--nova-api-db", (await restored(t, made, made.api)).url];
    const { err } = await runs(0, [...(await wordsOf(t, made)), ...api]);
    assert.deepEqual(foundIn(made).nova, { rows: 12, left: 0, why: null }, err);
    assert.deepEqual(await Promise.all(databases.map(digest)), before);
  });

test("a failure of apply after Nova's flavors is not reported as half done", async (t) => {
  const made = await plannedCloud("sqlite", t);
  await made.ironic.db.raw(
    "CREATE TRIGGER theirs BEFORE INSERT ON nodes BEGIN SELECT RAISE(ABORT, 'theirs'); END",
  );
  const { status, err } = await run(await wordsOf(t, made));
  assert.notEqual(status, 0);
  assert.match(err, /^ERROR N2I-E2\d\d /m);
  assert.doesNotMatch(err, /N2I-E301|already been changed/);
});

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, a rehearsal tells and keeps no secret of either side, whether it goes well or not`, async (t) => {
    const made = await deploySecrets(engine, t, (secret) => ({
      shows: "secrets that are copied",
      nova_bm: {
        nodes: [
          tenant(1, { pm_password: secret("pm_password"), deploy_key: secret("deploy_key") }),
          { id: 2, pm_password: secret("second") },
        ],
      },
      nova_conf: { "*": { flavor_extra_specs: "cpu_arch:x86_64" } },
      site: SITE,
    }));
    const { at, source, reader, plan, ironic } = made;
    await ironic
      .db("nodes")
      .insert({
        uuid: "d0000000-0000-4000-8000-000000000001",
        driver: "fake",
        driver_info: JSON.stringify({ ipmi_password: made.watch(canary("theirs")).text }),
      });
    const words = async () => [
      ...["rehearse", ...at, "--ironic-db", (await restored(t, made, ironic)).url],
      ...["--yes", "--debug"],
    ];
    await made.silently(0, ["extract", ...at, ...source]);
    await made.silently(0, ["plan", ...at, ...reader, ...plan, "--allow-other-nodes"]);
    await made.silently(0, await words());
    await made.silently(4, ["rehearse", ...at, ...reader, "--yes", "--debug"]);
    await made.silently(0, ["plan", ...at, ...reader, ...plan, "--allow-other-nodes"]);
    await ironic.db("nodes").update({ driver_info: made.watch(canary("not JSON")).text });
    await made.silently(0, await words());
  });
