import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { MigrationError } from "../../../src/lib/error.ts";
import type { Engine } from "../../../src/model/database.ts";
import type { AgentOptions } from "../../../src/takeover/agent/agent-taker.ts";
import { withAgent } from "../../../src/takeover/host-agent.ts";
import { extendSchema } from "../../../src/takeover/leases/schema.ts";
import { caseUuid } from "../../cases/case.ts";
import { loadNova, loadNovaBm } from "../../cases/load-case.ts";
import { refused, runs } from "../../hostile/cli.ts";
import { type Deployment, deploy, privateFolder } from "../../hostile/deployment.ts";
import { SMALL } from "../../hostile/fleet.ts";
import { connect } from "../../lab/connect.ts";
import { engines, test } from "../../lab/engines.ts";
import { addressFile, type TestDatabase } from "../../lab/index.ts";
import { startMariadb } from "../../lab/start.ts";
import { proxyTo } from "../../support/proxy.ts";
import { bootFile, rootOf } from "../legacy-trees.ts";
import { opened } from "./place.ts";

type OpenedAgent = Parameters<Parameters<typeof withAgent>[2]>[0];

const INSTANCE = caseUuid("instance", 1);
const ROOT = rootOf(1);
/** As the deploy helper leaves a machine's boot file. */
const BOOT = bootFile(1, "/tftpboot");
const silently = (): void => undefined;

/** A host whose nova-compute the test plays, and what its agent is told. */
async function hosted(engine: Engine, t: TestContext) {
  const made = await deploy(engine, t, SMALL);
  return hostOf(made, t);
}

/** The same on a MariaDB that nobody else asks. */
async function hostedAlone(t: TestContext) {
  const server = await startMariadb("in memory");
  t.after(() => server.stop());
  const [bm, nova] = await Promise.all(
    ["nova_bm", "nova"].map(async (name) => {
      await server.newDatabase(name);
      const db = connect({ ...server, database: name });
      t.after(() => db.destroy());
      return { engine: "mysql" as const, name, url: server.url(name), db, server };
    }),
  );
  if (bm === undefined || nova === undefined) throw new Error("two were made");
  await loadNovaBm(bm.db, "mysql", SMALL);
  await loadNova(nova.db, "mysql", SMALL);
  return hostOf({ bm, nova, folder: privateFolder(t), source: [] }, t);
}

async function hostOf(made: Pick<Deployment, "bm" | "nova" | "folder" | "source">, t: TestContext) {
  const { folder, bm, nova } = made;
  await extendSchema(await opened(bm.url, t));
  const service = { binary: "nova-compute", topic: "compute", deleted: 0, disabled: false };
  await nova.db("services").insert({ id: 77, host: "A", ...service, report_count: 5 });
  await bm.db("bm_nodes").update({ service_host: "A" });
  const asked: AgentOptions = {
    ...{ host: "A", novaBmDb: addressFile(folder, "bm", bm.url) },
    ...{ novaDb: addressFile(folder, "nova", nova.url) },
    ...{ interval: 10, ttl: 60, take: false },
  };
  const report = () => nova.db("services").where({ id: 77 }).increment("report_count", 1);
  const words = ["host", "agent", "--nova-bm-db", asked.novaBmDb, "--nova-db", asked.novaDb];
  return { ...made, asked, report, words };
}

type Hosted = NonNullable<Awaited<ReturnType<typeof hosted>>>;

async function beat({ report }: Hosted, { pass }: OpenedAgent): Promise<string> {
  await report();
  return pass();
}

async function silentFor({ bm }: Hosted, milliseconds: number): Promise<void> {
  await bm.db("bm_service_leases").decrement("heartbeat_ms", milliseconds);
}

async function heartbeat({ bm }: Hosted): Promise<number> {
  return Number((await bm.db("bm_service_leases").first())?.heartbeat_ms ?? 0);
}

for (const engine of engines()) {
  test(`on ${engine}, A-12: an agent keeps the lease only while its nova-compute reports, and writes nothing once fenced`, async (t) => {
    const place = await hosted(engine, t);
    const { bm, nova, asked } = place;
    const said: string[] = [];
    const say = (text: string) => said.push(text);
    await withAgent(asked, say, async (agent) => {
      assert.equal(await agent.pass(), "waiting", "one look tells nothing");
      assert.equal(await agent.pass(), "waiting");
      assert.equal(await bm.db("bm_service_leases").first(), undefined);
      assert.equal(await beat(place, agent), "beat");
      assert.equal(await beat(place, agent), "beat");
      await silentFor(place, 30_000);
      const old = await heartbeat(place);
      assert.equal(await agent.pass(), "waiting");
      assert.equal(await heartbeat(place), old, "Nova's word is missing");
      await nova.db("services").where({ id: 77 }).update({ report_count: 1 });
      assert.equal(await agent.pass(), "waiting", "a row that was made anew");
      assert.equal(await beat(place, agent), "beat");
      assert.ok((await heartbeat(place)) > old);
      await bm.db("bm_service_leases").update({ fenced_by: "B", epoch: 2, heartbeat_ms: 3 });
      await bm.db("bm_nodes").update({ service_heartbeat_ms: 3 });
      assert.equal(await beat(place, agent), "fenced");
      assert.equal(await heartbeat(place), 3, "what it had still to write changed nothing");
      const beats = await bm.db("bm_nodes").pluck("service_heartbeat_ms");
      assert.deepEqual(beats.map(Number), [3, 3]);
    });
    const half = ["nova-compute of A has no new report", "nova-compute of A reports"];
    const lines = said.map((line) => line.replace(/:.*/, ""));
    assert.deepEqual(lines, [...half, ...half]);
  });

  test(`on ${engine}, an agent publishes what boots its machines, and again when a file changed`, async (t) => {
    const place = await hosted(engine, t);
    const { bm, nova, folder, asked } = place;
    const tree = join(folder, "tftpboot");
    const stranger = caseUuid("instance", 90);
    for (const uuid of [INSTANCE, stranger]) {
      mkdirSync(join(tree, uuid), { recursive: true });
      writeFileSync(join(tree, uuid, "config"), BOOT);
    }
    const images = { kernel_id: "k1", ramdisk_id: "r1" };
    const known = await nova.db("instances").where({ uuid: INSTANCE }).update(images);
    assert.equal(known, 1);
    const file = join(tree, INSTANCE, "config");
    const record = { instance_uuid: INSTANCE, host: "A", root_uuid: ROOT, ...images };
    const records = () => bm.db("bm_boot_records").select(Object.keys(record));
    await withAgent({ ...asked, tftpRoot: tree }, silently, async (agent) => {
      const beats = async (count: number): Promise<void> => {
        for (let at = 0; at < count; at += 1)
          assert.match(await beat(place, agent), /beat|waiting/);
      };
      await agent.pass();
      await beats(4);
      assert.deepEqual(await records(), [record], "a machine of no host of ours is left out");
      await bm.db("bm_boot_records").delete();
      await beats(4);
      assert.deepEqual(await records(), [], "nothing changed");
      writeFileSync(file, BOOT.replace("default boot", "default deploy"));
      utimesSync(file, 1, 1);
      await beats(4);
      assert.deepEqual(await records(), [{ ...record, root_uuid: null }]);
    });
  });
}

for (const engine of engines("mysql"))
  test(`on ${engine}, an agent makes at most four statements an interval, whatever the fleet, and keeps no connection`, async (t) => {
    const place = await hostedAlone(t);
    await begunApart(place);
    const { bm, asked, folder } = place;
    const tree = join(folder, "tftpboot");
    const nodes = Array.from({ length: 300 }, (_, at) => ({
      ...{ id: 100 + at, uuid: caseUuid("node", 100 + at), service_host: "A", deleted: false },
      instance_uuid: caseUuid("instance", 100 + at),
    }));
    await bm.db("bm_nodes").insert(nodes);
    for (const { instance_uuid } of nodes) {
      mkdirSync(join(tree, instance_uuid), { recursive: true });
      writeFileSync(join(tree, instance_uuid, "config"), BOOT);
    }
    // Nova calls it dead, and its agent does not: it is looked at as often as may be.
    const silent = { host: "S", binary: "nova-compute", topic: "compute", deleted: 0 };
    await place.nova.db("services").insert({ id: 78, ...silent, report_count: 1 });
    const lease = { host: "S", epoch: 1, ttl_ms: 1e9, heartbeat_ms: Date.now() };
    await bm.db("bm_service_leases").insert(lease);
    let now = 0;
    const counted = async (): Promise<number> => {
      const [rows] = await bm.db.raw(
        "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_select', 'Com_insert', 'Com_update', 'Com_delete', 'Com_replace', 'Com_show_status')",
      );
      return rows.reduce((sum: number, row: { Value: string }) => sum + Number(row.Value), 0);
    };
    await withAgent(
      { ...asked, tftpRoot: tree, take: true, run: join(folder, "runs-of-agent") },
      silently,
      async (agent) => {
        await agent.pass();
        await beat(place, agent); // opens what it keeps open, and its lease
        // What it looks for at its start, beside its heartbeat, belongs to no interval after it.
        await agent.settle();
        let most = 0;
        const connections = async (): Promise<number> =>
          Number((await bm.db.raw("SHOW GLOBAL STATUS LIKE 'Threads_connected'"))[0][0].Value);
        const before = await connections();
        for (let at = 0; at < 60; at += 1) {
          await place.report();
          now += 10_000;
          // So that publishing goes on while hosts are looked at.
          const { instance_uuid } = nodes[at] ?? { instance_uuid: "" };
          utimesSync(join(tree, instance_uuid, "config"), at + 1, at + 1);
          const from = await counted();
          assert.equal(await agent.pass(), "beat");
          most = Math.max(most, (await counted()) - from - 1); // the question itself
        }
        assert.ok(most <= 4 && most >= 3, String(most));
        assert.ok((await connections()) <= before + 1);
        assert.equal((await bm.db("bm_boot_records")).length, 300);
      },
      () => now,
    );
  });

for (const engine of engines("mysql"))
  test("a database that is gone for a while ends no agent", async (t) => {
    const place = await hosted(engine, t);
    assert.ok(place.bm.server);
    const { bm, asked, folder } = place;
    const { port } = place.bm.server;
    const line = await proxyTo(port, t);
    const through = bm.url.replace(`:${port}/`, `:${line.port}/`);
    const cut = { ...asked, novaBmDb: addressFile(folder, "line", through) };
    await withAgent(cut, silently, async (agent) => {
      await agent.pass();
      assert.equal(await beat(place, agent), "beat");
      line.cut({ forGood: true });
      await assert.rejects(beat(place, agent), { code: "N2I-E200" });
      line.fix();
      assert.equal(await beat(place, agent), "beat");
    });
  });

test("a fenced host's agent runs the site's program, and does not start again", async (t) => {
  const { folder, bm, words } = await hosted("sqlite", t);
  const program = join(folder, "fenced");
  writeFileSync(program, `#!/bin/sh\necho "$NOVA2IRONIC_HOST" >>${folder}/told\nexit 3\n`);
  chmodSync(program, 0o700);
  const now = Date.now();
  // It hears so at its first look.
  const lease = { host: "A", epoch: 4, heartbeat_ms: now, ttl_ms: 60_000, fenced_by: "B" };
  await bm.db("bm_service_leases").insert(lease);
  const { err } = await runs(5, [...words, "--host", "A", "--on-fenced", program]);
  assert.match(err, /N2I-E363/);
  assert.match(err, /--on-fenced \S+: ended with 3\./);
  assert.equal(readFileSync(join(folder, "told"), "utf8"), "A\n");
  const [row] = await bm.db("bm_service_leases");
  assert.deepEqual([Number(row.epoch), Number(row.heartbeat_ms)], [4, now]);
});

for (const engine of engines())
  test(`on ${engine}, an agent whose nova-compute hangs sees that its host was fenced`, async (t) => {
    const place = await hosted(engine, t);
    const { asked, bm } = place;
    const fence = { fenced_by: "B", epoch: 2 };
    await withAgent(asked, silently, async (agent) => {
      await agent.pass();
      assert.equal(await beat(place, agent), "beat");
      assert.equal(await agent.pass(), "waiting");
      const old = await heartbeat(place);
      await bm.db("bm_service_leases").update(fence);
      assert.equal(await agent.pass(), "fenced");
      assert.equal(await heartbeat(place), old);
    });
    // One that is started then says so at its first look.
    await withAgent(asked, silently, async (agent) => assert.equal(await agent.pass(), "fenced"));
    // Lifted meanwhile: what it held is another's lease.
    await withAgent(asked, silently, async (agent) => {
      await bm.db("bm_service_leases").update({ fenced_by: null });
      await agent.pass();
      assert.equal(await beat(place, agent), "beat");
      await bm.db("bm_service_leases").update({ epoch: 3 });
      assert.equal(await agent.pass(), "fenced");
    });
  });

test("an agent rejects invalid options before it writes", async (t) => {
  const { asked, bm, words } = await hosted("sqlite", t);
  await refused(words, 64, "N2I-E100", [/--host/]);
  const own = [...words, "--host", "A"];
  await refused([...own, "--ttl", "20"], 64, "N2I-E100", [/three times --interval/]);
  const other = [...words, "--host", "nobody"];
  await refused(other, 64, "N2I-E107", [/no nova-compute on a host nobody/]);
  const unit = await runs(0, [...own, "--on-fenced", "/usr/bin/stop it", "--print-unit"]);
  const command =
    'host agent --host A --nova-bm-db file:\\S+ .*--ttl 60 --on-fenced "/usr/bin/stop it"';
  assert.match(unit.out, new RegExp(`^ExecStart=\\S*node \\S+ ${command}$`, "m"));
  assert.match(unit.out, /^RestartPreventExitStatus=5 /m);
  assert.equal(await bm.db("bm_service_leases").first(), undefined);
  await runs(0, ["host", "schema", "revert", "--nova-bm-db", asked.novaBmDb, "--yes"]);
  await refused(own, 4, "N2I-E360", [/no lease tables/]);
});

for (const engine of engines("mysql", "postgresql"))
  test(`on ${engine}, an agent's missing rights are said as GRANT, and suffice`, async (t) => {
    const place = await hosted(engine, t);
    assert.ok(place.bm.server && place.nova.server);
    const { bm, nova, asked, folder } = place;
    const reader = await place.bm.server.restrictedUser("agent", bm.name, "SELECT");
    const novaBmDb = addressFile(folder, "agent", reader.url);
    const own = { ...asked, novaBmDb, novaDb: place.source[3] ?? "" };
    const begun = () =>
      withAgent(own, silently, async (agent) => {
        await agent.pass();
        return beat(place, agent);
      });
    const error: unknown = await begun().catch((cause: unknown) => cause);
    assert.ok(error instanceof MigrationError && error.code === "N2I-E206", String(error));
    const grants = error.fix.replace(/^[^:]*: /, "").split("; ");
    for (const grant of grants) assert.match(grant, /^GRANT [A-Z, ]+ ON /);
    for (const grant of grants) await bm.db.raw(grant);
    assert.equal(await begun(), "beat");
    assert.ok(nova.name !== bm.name);
  });

interface Queried {
  readonly asked: AgentOptions;
  readonly bm: TestDatabase;
  /** On a server that nobody else asks. */
  readonly nova: TestDatabase;
  readonly folder: string;
}

/** No agent begins where Nova's server, as its user sees it, is most of an hour ahead of nova_bm's. */
export async function begunApart({ asked, bm, nova, folder }: Queried): Promise<void> {
  const account = await nova.server?.restrictedUser("ahead", nova.name, "SELECT");
  assert.ok(account);
  const novaDb = addressFile(folder, "ahead", account.url);
  await nova.db.raw("SET GLOBAL init_connect = 'SET timestamp = UNIX_TIMESTAMP() + 3000'");
  const begins = (): never => assert.fail("it begins");
  const begun = withAgent({ ...asked, novaDb }, () => undefined, begins);
  const message = /differ by (29|30)\d\d s, but a lease of 60 s allows 10 s/;
  await assert.rejects(begun, { message, code: "N2I-E364" });
  await nova.db.raw("SET GLOBAL init_connect = ''");
  assert.equal(await bm.db("bm_service_leases").first(), undefined);
}
