import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { MigrationError } from "../../../src/lib/error.ts";
import type { Database } from "../../../src/systems/database/open.ts";
import { beginLease } from "../../../src/takeover/leases/leases.ts";
import {
  acquiredLocks,
  acquireLock,
  keepLocks,
  releaseLock,
  renewLock,
} from "../../../src/takeover/leases/locks.ts";
import { extendSchema, revertSchema } from "../../../src/takeover/leases/schema.ts";
import { engines, test } from "../../lab/engines.ts";
import type { TestDatabase } from "../../lab/index.ts";
import { CONTENDERS, contend, leased, novaBm, opened, TTL } from "./place.ts";

const reverted = (database: Database) => revertSchema(database, () => Promise.resolve());

const COLUMNS = [
  ...["service_heartbeat_at", "service_heartbeat_ms", "service_epoch", "prev_task_state"],
];
const TABLES = ["bm_boot_records", "bm_locks", "bm_service_leases"];

/** The definitions of all tables as the server gives them back, and every row of nova-baremetal's. */
async function whole({ db, engine, name }: TestDatabase): Promise<string> {
  const asked = {
    sqlite: "SELECT name, sql FROM sqlite_master ORDER BY 1",
    mysql: `SELECT table_name, column_name, ordinal_position, column_type, is_nullable, column_default, column_key, extra FROM information_schema.columns WHERE table_schema = '${name}' ORDER BY 1, 3`,
    postgresql:
      "SELECT table_name, column_name, data_type, character_maximum_length, is_nullable, column_default FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, ordinal_position",
  }[engine];
  const answer = await db.raw(asked);
  const shape = engine === "mysql" ? answer[0] : engine === "postgresql" ? answer.rows : answer;
  const rows = await Promise.all(
    ["bm_nodes", "bm_interfaces", "migrate_version"].map((table) => db(table).orderBy(1)),
  );
  return JSON.stringify([shape, rows], null, 1);
}

for (const engine of engines()) {
  test(`on ${engine}, nova_bm is extended once and taken back whole, its version untouched`, async (t) => {
    const made = await novaBm(engine, t);
    const { db } = made;
    const before = await whole(made);
    const database = await opened(made.url, t);
    const added = await extendSchema(database);
    assert.deepEqual([...added].sort(), [...COLUMNS, ...TABLES].sort());
    const nodes = await db("bm_nodes").select(COLUMNS);
    assert.ok(nodes.length > 0);
    for (const { service_epoch, ...others } of nodes) {
      assert.equal(Number(service_epoch), 0);
      assert.deepEqual(Object.values(others), [null, null, null]);
    }
    assert.deepEqual((await db("migrate_version").first()).version, 10);
    // As nova-baremetal adds a machine: it names its own columns.
    await db("bm_nodes").insert({ id: 900, deleted: false });
    await db("bm_nodes").where({ id: 900 }).delete();
    const extended = await whole(made);
    assert.deepEqual(await extendSchema(database), []);
    assert.equal(await whole(made), extended);

    const removed = await reverted(database);
    assert.deepEqual([...removed].sort(), [...added].sort());
    assert.equal(await whole(made), before);
    assert.deepEqual(await reverted(database), []);
  });

  test(`on ${engine}, what a killed extend left is completed, and reverted`, async (t) => {
    const made = await novaBm(engine, t);
    const before = await whole(made);
    const database = await opened(made.url, t);
    await extendSchema(database);
    // SQLite's connection of the test learns only by a question what another one changed.
    assert.equal((await made.db("bm_nodes").first()).prev_task_state, null);
    await made.db.raw("ALTER TABLE bm_nodes DROP COLUMN prev_task_state");
    await made.db.raw("DROP TABLE bm_locks");
    assert.deepEqual(await extendSchema(database), ["bm_locks", "prev_task_state"]);
    assert.deepEqual(await extendSchema(database), []);
    await made.db.raw("DROP TABLE bm_service_leases");
    await reverted(database);
    assert.equal(await whole(made), before);
  });

  test(`on ${engine}, nothing is reverted while somebody needs it, and a fork's own is left`, async (t) => {
    const { made, database } = await leased(engine, t);
    const refused = (pattern: RegExp) =>
      assert.rejects(reverted(database), (error: MigrationError) => {
        assert.equal(error.code, "N2I-E361");
        assert.match(error.message, pattern);
        return true;
      });
    const held = await keepLocks(database, ["host:A"], { owner: "B", ttl: 60_000 });
    await refused(/B holds the lock host:A/);
    await held.release();
    await beginLease(database, { host: "A", ttl: 60_000, my_ip: null, tftp_root: null });
    await refused(/the agent of A runs/);
    await made.db("bm_service_leases").delete();
    await made.db("bm_nodes").where({ id: 1 }).update({ task_state: "migrating" });
    await refused(/bm_nodes\.id=1 moving to another host/);
    await made.db("bm_nodes").where({ id: 1 }).update({ task_state: null });
    await made.db.raw("ALTER TABLE bm_locks ADD COLUMN note VARCHAR(9)");
    for (const work of [extendSchema, reverted])
      await assert.rejects(work(database), (error: MigrationError) => {
        assert.match(error.message, /bm_locks already exists/);
        return error.code === "N2I-E360";
      });
  });
}

for (const engine of engines("mysql", "postgresql"))
  test(`on ${engine}, missing rights are said as GRANT before anything is written, and suffice`, async (t) => {
    const made = await novaBm(engine, t);
    assert.ok(made.server);
    const { server, db, name } = made;
    const before = await whole(made);
    const account = await server.restrictedUser("agent", name, "SELECT, INSERT, UPDATE, DELETE");
    const database = await opened(account.url, t);
    const lacks = async (work: typeof extendSchema): Promise<readonly string[]> => {
      const error: unknown = await work(database).catch((cause: unknown) => cause);
      assert.ok(error instanceof MigrationError && error.code === "N2I-E206", String(error));
      return error.fix.replace(/^[^:]*: /, "").split("; ");
    };
    const grants = await lacks(extendSchema);
    for (const grant of grants) assert.match(grant, /^GRANT /);
    assert.ok(grants.some((grant) => (engine === "mysql" ? /ALTER/ : /CREATE/).test(grant)));
    assert.equal(await whole(made), before);
    for (const grant of grants) await db.raw(grant);
    await extendSchema(database);
    const extended = await whole(made);
    if (engine === "mysql") {
      const more = await lacks(reverted);
      const drop = (table: string) => `GRANT DROP ON \`${name}\`.${table} TO '${account.user}'@`;
      const wanted = TABLES.map((table) => `${drop(table)}'127.0.0.1'`);
      assert.deepEqual(more, wanted);
      assert.equal(await whole(made), extended);
      for (const grant of more) await db.raw(grant);
    }
    await reverted(database);
    assert.equal(await whole(made), before);
  });

for (const engine of engines("mysql"))
  test("on mysql, names of hosts and uuids make keys that old servers take", async (t) => {
    const made = await novaBm(engine, t, "utf8mb4");
    await extendSchema(await opened(made.url, t));
    const [rows] = await made.db.raw(
      "SELECT max(character_octet_length) AS longest FROM information_schema.columns WHERE table_schema = ? AND column_key = 'PRI' AND table_name IN ('bm_locks', 'bm_service_leases', 'bm_boot_records')",
      [made.name],
    );
    // InnoDB's limit before large prefixes.
    assert.ok(Number(rows[0].longest) <= 767, String(rows[0].longest));
  });

/** Rounds of each engine; N2I_RUNS=100 is what the design was measured with. */
const ROUNDS = Number(process.env.N2I_RUNS ?? 5);

const A = "host:a";
const B = "host:b";
const NODE = "node:a0000000-0000-4000-8000-000000000001";
const INSTANCE = "instance:b0000000-0000-4000-8000-000000000001";

for (const engine of engines()) {
  test(`on ${engine}, of ${CONTENDERS} contenders exactly one has the lock, in each of ${ROUNDS} rounds`, async (t) => {
    const { made } = await leased(engine, t);
    await contend(t, [made.url], ROUNDS);
  });

  test(`on ${engine}, who takes an expired lock has it, and its former holder writes nothing`, async (t) => {
    const { database } = await leased(engine, t);
    const stale = await acquireLock(database, "node:x", { owner: "A", ttl: -1 });
    assert.ok(stale !== null);
    const lock = await acquireLock(database, "node:x", { owner: "B", ttl: TTL });
    assert.equal(await renewLock(database, stale, TTL), false);
    assert.equal(await releaseLock(database, stale), false);
    const [held, ...others] = await acquiredLocks(database);
    assert.deepEqual([held?.owner, others], ["B", []]);
    assert.ok(lock !== null && (await renewLock(database, lock, TTL)));
  });

  test(`on ${engine}, an hour's error of our clock changes no verdict on a lock`, async (t) => {
    const { database } = await leased(engine, t);
    const real = Date.now;
    let wrong = 0;
    t.mock.method(Date, "now", () => real() + wrong);
    for (wrong of [3_600_000, -3_600_000]) {
      const resource = `node:${wrong}`;
      const lock = await acquireLock(database, resource, { owner: "A", ttl: TTL });
      assert.ok(lock !== null);
      const [held] = (await acquiredLocks(database)).filter((one) => one.resource === resource);
      assert.ok(
        held !== undefined && held.remaining > 0 && held.remaining <= TTL,
        JSON.stringify(held),
      );
      assert.equal(await acquireLock(database, resource, { owner: "B", ttl: TTL }), null);
    }
  });

  test(`on ${engine}, locks are taken all or none, and named when held`, async (t) => {
    const place = await leased(engine, t);
    const { database } = place;
    const ours = await keepLocks(database, [A, B, NODE, INSTANCE, A], { owner: "B", ttl: TTL });
    const held = (await acquiredLocks(database)).map(({ resource }) => resource);
    assert.deepEqual(held, [A, B, INSTANCE, NODE]);
    await ours.renew();
    const others = keepLocks(database, ["host:0", NODE], { owner: "C", ttl: TTL });
    await assert.rejects(others, (error: MigrationError) => {
      assert.match(error.message, /^the lock node:a0000000-\S+ is held by B for \d+ s more$/);
      return error.code === "N2I-E362" && error.exit === 11;
    });
    assert.equal((await acquiredLocks(database)).length, 4, "host:0 was given back");
    await place.made.db("bm_locks").where({ resource: "host:a" }).update({ nonce: "another" });
    await assert.rejects(ours.renew(), (error: MigrationError) => error.code === "N2I-E362");
    await ours.release();
    const left = (await acquiredLocks(database)).map(({ resource }) => resource);
    assert.deepEqual(left, ["host:a"], "another's is left");
  });
}

test("locks are renewed by themselves while a step takes long", async (t) => {
  const { made, database } = await leased("sqlite", t);
  t.mock.timers.enable({ apis: ["setInterval"] });
  const kept = await keepLocks(database, [A, NODE], { owner: "B", ttl: TTL });
  const old = () => made.db("bm_locks").where({ expires_ms: 1 });
  for (let time = 0; time < 2; time += 1) {
    await made.db("bm_locks").update({ expires_ms: 1 });
    t.mock.timers.tick(TTL / 2);
    while ((await old()).length > 0) await turn();
    assert.equal(await acquireLock(database, "host:a", { owner: "C", ttl: TTL }), null);
  }
  await kept.release();
  assert.ok(await acquireLock(database, "host:a", { owner: "C", ttl: TTL }));
});
