import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import type { Knex } from "knex";
import type { Json } from "../../../src/lib/json.ts";
import type { Row } from "../../../src/model/machine.ts";
import type { Column } from "../../../src/model/mapping.ts";
import type { Step } from "../../../src/model/plan.ts";
import { endWriting, openWriting } from "../../../src/systems/database/write.ts";
import { isJsonColumn } from "../../../src/systems/ironic-db/codec.ts";
import { createRows } from "../../../src/systems/ironic-db/create.ts";
import type { Ironic } from "../../../src/systems/ironic-db/current.ts";
import { bulkOf, insertRows, type WriteRows } from "../../../src/systems/ironic-db/insert.ts";
import { identifyTarget } from "../../../src/systems/ironic-db/open.ts";
import { loadIronic } from "../../cases/load-case.ts";
import { withDatabase } from "../../lab/index.ts";
import { anyText } from "../../support/any-text.ts";
import { fleet } from "../../support/fleet.ts";
import { openedAt } from "../../support/opened.ts";
import { mappings, seal } from "../../support/planned-case.ts";

type BulkEngine = "mysql" | "postgresql";
const ENGINES = ["mysql", "postgresql"] as const;

/** An Ironic without rows, and a login to it. @param grants what the login may do; its owner's own without */
async function ironicOn(engine: BulkEngine, t: TestContext, grants?: string) {
  const made = await withDatabase(engine, t, "utf8mb4");
  await loadIronic(made.db, engine, fleet(0));
  for (const table of ["ports", "nodes"]) await made.db(table).del();
  const user = grants && (await made.server?.restrictedUser("bulk", made.name, grants));
  const database = await openedAt(user ? user.url : made.url, t);
  const { release } = await identifyTarget(database, mappings);
  return { ironic: { database, release, seal }, sql: made.db, user: user ? user.user : made.name };
}

/** Work in a transaction of which nothing is kept. */
async function tried<T>({ database }: Ironic, work: (trx: Knex) => Promise<T>): Promise<T> {
  const trx = await openWriting(database);
  try {
    return await work(trx);
  } finally {
    await endWriting(database, trx);
  }
}

const uuidOf = (kind: number, at: number): string =>
  `${kind}0000000-0000-4000-8000-${String(at).padStart(12, "0")}`;

/** Columns that name rows of other tables, or that `uuid` and the like fill. */
const GIVEN = ["id", "uuid", "name", "instance_uuid", "address", "allocation_id", "chassis_id"];
const OTHERS = ["node_id", "portgroup_id", "conductor_affinity", "firmware_id", "parent_node"];

const json = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    anyText,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.constantFrom("\\N", "\\.", "\\", "a\tb", "a\nb\r\n", "\\t", "\u{1f511}", "NULL"),
    fc.dictionary(anyText, tie("value"), { maxKeys: 3 }),
    fc.array(tie("value"), { maxLength: 3 }),
  ),
})).value;

/** Text that servers take in a column; PostgreSQL takes no NUL. */
const text = (most: number) =>
  fc
    .oneof(
      anyText,
      fc.constantFrom("", " ", "\\N", "\\.", "\\", "\t", "\r\n", "x\\", "NULL", "\b\v"),
    )
    .map((one) => [...one.replaceAll("\0", "")].slice(0, most).join(""));

function anyOf({ name, type, length }: Column): fc.Arbitrary<Json> {
  if (isJsonColumn(name)) return fc.dictionary(anyText, json, { maxKeys: 4 });
  switch (type) {
    case "boolean":
      return fc.boolean();
    case "integer":
    case "bigint":
    case "float":
      return fc.integer({ min: -5, max: 1_000_000 });
    case "datetime":
      return fc.constantFrom("2014-05-01 10:00:00", "1999-12-31 23:59:59");
    default:
      return text(Math.min(length ?? 40, 40));
  }
}

function rowOf(columns: readonly Column[]): fc.Arbitrary<Row> {
  const free = columns.filter(({ name }) => ![...GIVEN, ...OTHERS].includes(name));
  return fc.record(Object.fromEntries(free.map((one) => [one.name, fc.option(anyOf(one))])));
}

/** Nodes, some with a sealed password, and two ports of each. */
const rowsIn = ({ release }: Ironic) =>
  fc
    .array(fc.tuple(rowOf(release.node), rowOf(release.port), text(30)), {
      minLength: 1,
      maxLength: 9,
    })
    .map((some) => ({
      nodes: some.map(([node, , password], at) => {
        const uuid = uuidOf(1, at);
        const driver_info = { ipmi_address: "10.0.0.1", ipmi_password: seal.seal(password, uuid) };
        const name = at % 2 === 0 ? `node-${at}` : null;
        return { ...node, uuid, name, driver: "ipmi", ...(at % 3 > 0 && { driver_info }) };
      }),
      ports: some.flatMap(([, port], at) =>
        [0, 1].map((nth) => ({
          ...{ ...port, uuid: uuidOf(2, 2 * at + nth), node_uuid: uuidOf(1, at) },
          address: `52:54:00:00:0${nth}:${String(at).padStart(2, "0")}`,
        })),
      ),
    }));

function within({ database, ...more }: Ironic, trx: Knex): Ironic {
  return { ...more, database: { ...database, knex: trx } };
}

type Rows = { readonly nodes: readonly Row[]; readonly ports: readonly Row[] };

/** What the database holds once rows were written some way: nodes and ports by uuid, ports with their owner's. */
function held(ironic: Ironic, { nodes, ports }: Rows, write: WriteRows) {
  return tried(ironic, async (trx) => {
    // Nodes of others have lower ids.
    await trx("nodes").insert({ uuid: uuidOf(9, 9), driver: "fake" });
    const inside = within(ironic, trx);
    const given = await write(inside, "nodes", nodes, null);
    await trx("nodes")
      .where({ uuid: uuidOf(9, 9) })
      .del();
    const ids = await trx("nodes").select("id", "uuid");
    const owners = new Map(ids.map(({ id, uuid }) => [uuid, Number(id)]));
    assert.equal(owners.size, nodes.length);
    // Statements of MariaDB tell none.
    if (write !== insertRows) assert.deepEqual(given, owners);
    const told = await write(inside, "ports", ports, owners);
    assert.ok(told !== null);
    const back = new Map(ids.map(({ id, uuid }) => [Number(id), uuid]));
    const rows = async (table: string): Promise<readonly object[]> =>
      (await trx(table).orderBy("uuid")).map(({ id: _, node_id, ...row }) => ({
        ...row,
        ...(table === "ports" && { owner: back.get(Number(node_id)) }),
      }));
    return { nodes: await rows("nodes"), ports: await rows("ports") };
  });
}

for (const engine of ENGINES)
  test(`on ${engine}, rows that are sent in bulk are those that statements write, whatever is in them`, async (t) => {
    const at = await ironicOn(engine, t);
    const { ironic } = at;
    const bulk = bulkOf(ironic.database);
    assert.ok(bulk);
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(rowsIn(ironic), async (rows) => {
        const sent = await held(ironic, rows, bulk.write);
        assert.deepEqual(sent, await held(ironic, rows, insertRows));
        compared += sent.nodes.length + sent.ports.length;
      }),
      { seed: 20, numRuns: 20 },
    );
    assert.ok(bulk.works() && compared > 50, String(compared));
  });

function steps(): readonly Step[] {
  const driver = { driver: "ipmi", extra: { nova_bm: { id: 1 } }, maintenance: false };
  const step = (resource: Step["resource"], machine: string, after: Row): Step => ({
    ...{ id: `${resource}:${String(after.uuid)}`, resource, machine, before: null, after },
  });
  return [0, 1].flatMap((at) => {
    const uuid = uuidOf(1, at);
    const port = { uuid: uuidOf(2, at), node_uuid: uuid, address: `52:54:00:00:00:0${at}` };
    return [step("node", uuid, { uuid, ...driver }), step("port", uuid, port)];
  });
}

/** Creates rows by what is left of the bulk way, and says what was done. */
async function created({ ironic }: { readonly ironic: Ironic }, given = steps()) {
  const bulk = bulkOf(ironic.database);
  const rows = await tried(ironic, async (trx) => {
    const writing = { ironic: within(ironic, trx), inMaintenance: false, bulk };
    const { done, found } = await createRows(writing, given, () => false);
    const ports = await trx("ports").join("nodes", "nodes.id", "ports.node_id");
    return { done: done.length, found: found.length, ports: ports.length };
  });
  return { ...rows, works: bulk?.works() };
}

for (const engine of ENGINES) {
  test(`on ${engine}, what is there already is found, and the rest is written`, async (t) => {
    const at = await ironicOn(engine, t);
    assert.deepEqual(await created(at), { done: 4, found: 0, ports: 2, works: true });
    const [first] = steps();
    assert.ok(first);
    const trx = await openWriting(at.ironic.database);
    const writing = { ironic: within(at.ironic, trx), inMaintenance: false, bulk: null };
    await createRows(writing, [first], () => false);
    await trx.commit();
    assert.deepEqual(await created(at), { done: 3, found: 1, ports: 2, works: true });
  });

  test(`on ${engine}, what runs before rows are made keeps them from it, and where all are there it does not`, async (t) => {
    const at = await ironicOn(engine, t);
    const trx = await openWriting(at.ironic.database);
    const making = (): Promise<void> => Promise.reject(new Error("not yet"));
    const ironic = within(at.ironic, trx);
    const writing = { ironic, inMaintenance: false, bulk: bulkOf(at.ironic.database) };
    const [first] = steps();
    assert.ok(first);
    for (const isOwned of [true, false]) {
      const creating = createRows({ ...writing, making }, steps(), () => isOwned);
      await assert.rejects(creating, /not yet/);
    }
    assert.equal((await trx("nodes")).length, 0);
    await createRows(writing, [first], () => false);
    const { found } = await createRows({ ...writing, making }, [first], () => true);
    assert.deepEqual(found, [first.id]);
    await trx.rollback();
  });

  test(`on ${engine}, a value that somebody else's row has is named, and nothing is kept`, async (t) => {
    const at = await ironicOn(engine, t);
    await at.sql("nodes").insert({ uuid: uuidOf(1, 1), driver: "fake" });
    await assert.rejects(created(at), { code: "N2I-E300", message: /1 existing row differs/ });
    await at.sql("nodes").del();
    await at.sql("ports").insert({ uuid: uuidOf(9, 9), address: "52:54:00:00:00:01" });
    await assert.rejects(created(at), { code: "N2I-E300", message: /writing ports/ });
    assert.equal((await at.sql("nodes")).length, 0);
  });

  test(`on ${engine}, a value that does not fit is an error, not a cut value`, async (t) => {
    const at = await ironicOn(engine, t);
    const long = steps().map((step) =>
      step.resource === "node"
        ? { ...step, after: { ...step.after, driver: "x".repeat(300) } }
        : step,
    );
    await assert.rejects(created(at, long), { code: "N2I-E207" });
  });

  test(`on ${engine}, a secret that cannot be opened ends the load while rows are on their way`, async (t) => {
    const at = await ironicOn(engine, t);
    const foreign = { secret: "A".repeat(80), of: uuidOf(1, 1) };
    const spoilt = steps().map((step, nth) =>
      nth === 2
        ? { ...step, after: { ...step.after, driver_info: { ipmi_password: foreign } } }
        : step,
    );
    await assert.rejects(created(at, spoilt), { code: "N2I-E115" });
    assert.deepEqual(await created(at), { done: 4, found: 0, ports: 2, works: true });
  });
}

test("a MariaDB that takes no LOAD DATA LOCAL gets statements", async (t) => {
  const at = await ironicOn("mysql", t);
  const { sql } = at;
  await sql.raw("SET GLOBAL local_infile=0");
  const rows = await created(at).finally(() => sql.raw("SET GLOBAL local_infile=1"));
  assert.deepEqual(rows, { done: 4, found: 0, ports: 2, works: false });
});

test("a PostgreSQL that takes no COPY, or gives no ids beforehand, gets statements", async (t) => {
  const at = await ironicOn("postgresql", t, "SELECT, INSERT, UPDATE, DELETE");
  const { sql, user } = at;
  assert.deepEqual(await created(at), { done: 4, found: 0, ports: 2, works: true });
  await sql.raw("ALTER TABLE nodes ENABLE ROW LEVEL SECURITY");
  await sql.raw("CREATE POLICY everything ON nodes USING (true)");
  assert.deepEqual(await created(at), { done: 4, found: 0, ports: 2, works: false });
  await sql.raw("ALTER TABLE nodes DISABLE ROW LEVEL SECURITY");
  await sql.raw(`REVOKE USAGE ON SEQUENCE nodes_id_seq FROM ${user}`);
  await sql.raw(`GRANT UPDATE ON SEQUENCE nodes_id_seq TO ${user}`);
  assert.deepEqual(await created(at), { done: 4, found: 0, ports: 2, works: false });
});
