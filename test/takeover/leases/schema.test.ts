import assert from "node:assert/strict";
import { test } from "node:test";
import { MigrationError } from "../../../src/lib/error.ts";
import { beginLease } from "../../../src/takeover/leases/leases.ts";
import { holdLocks } from "../../../src/takeover/leases/locks.ts";
import { extendSchema, leaseParts, revertSchema } from "../../../src/takeover/leases/schema.ts";
import { engines } from "../../lab/engines.ts";
import type { TestDatabase } from "../../lab/index.ts";
import { leased, novaBm, opened } from "./place.ts";

const COLUMNS = [
  "service_heartbeat_at",
  "service_heartbeat_ms",
  "service_epoch",
  "prev_task_state",
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
    for (const row of nodes)
      assert.deepEqual(
        Object.values(row).map((value) => value && Number(value)),
        [null, null, 0, null],
      );
    assert.deepEqual((await db("migrate_version").first()).version, 10);
    // As nova-baremetal adds a machine: it names its own columns.
    await db("bm_nodes").insert({ id: 900, deleted: false });
    await db("bm_nodes").where({ id: 900 }).delete();
    const extended = await whole(made);
    assert.deepEqual(await extendSchema(database), []);
    assert.equal(await whole(made), extended);
    assert.deepEqual((await leaseParts(database)).missing, []);

    const removed = await revertSchema(database);
    assert.deepEqual([...removed].sort(), [...added].sort());
    assert.equal(await whole(made), before);
    assert.deepEqual(await revertSchema(database), []);
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
    const left = await leaseParts(database);
    assert.deepEqual([...left.missing].sort(), ["bm_locks", "prev_task_state"]);
    assert.deepEqual(await extendSchema(database), left.missing);
    await made.db.raw("DROP TABLE bm_service_leases");
    await revertSchema(database);
    assert.equal(await whole(made), before);
  });

  test(`on ${engine}, nothing is reverted while somebody needs it, and a fork's own is left`, async (t) => {
    const { made, database } = await leased(engine, t);
    const refused = (pattern: RegExp) =>
      assert.rejects(revertSchema(database), (error: MigrationError) => {
        assert.equal(error.code, "N2I-E361");
        assert.match(error.message, pattern);
        return true;
      });
    const held = await holdLocks(database, [{ kind: "host", name: "A" }], {
      owner: "B",
      ttl: 60_000,
    });
    await refused(/B holds the lock host:A/);
    await held.release();
    await beginLease(database, { host: "A", ttl: 60_000, my_ip: null, tftp_root: null });
    await refused(/the agent of A runs/);
    await made.db("bm_service_leases").delete();
    await made.db("bm_nodes").where({ id: 1 }).update({ task_state: "migrating" });
    await refused(/bm_nodes\.id=1 on the way/);
    await made.db("bm_nodes").where({ id: 1 }).update({ task_state: null });
    await made.db.raw("ALTER TABLE bm_locks ADD COLUMN note VARCHAR(9)");
    for (const work of [extendSchema, revertSchema])
      await assert.rejects(work(database), (error: MigrationError) => {
        assert.match(error.message, /bm_locks is there already/);
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
      const error: unknown = await work(database).then(
        () => null,
        (cause: unknown) => cause,
      );
      assert.ok(error instanceof MigrationError && error.code === "N2I-E206", String(error));
      return error.fix.replace(/^[^:]*: /, "").split("; ");
    };
    const grants = await lacks(extendSchema);
    assert.ok(
      grants.every((grant) => grant.startsWith("GRANT ")),
      grants.join(),
    );
    assert.ok(grants.some((grant) => (engine === "mysql" ? /ALTER/ : /CREATE/).test(grant)));
    assert.equal(await whole(made), before);
    for (const grant of grants) await db.raw(grant);
    await extendSchema(database);
    const extended = await whole(made);
    if (engine === "mysql") {
      const more = await lacks(revertSchema);
      assert.deepEqual(
        more,
        TABLES.map(
          (table) => `GRANT DROP ON \`${name}\`.${table} TO '${account.user}'@'127.0.0.1'`,
        ),
      );
      assert.equal(await whole(made), extended);
      for (const grant of more) await db.raw(grant);
    }
    await revertSchema(database);
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
