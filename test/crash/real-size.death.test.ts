import assert from "node:assert/strict";
import { test } from "node:test";
import type { Knex } from "knex";
import type { Engine } from "../../src/model/database.ts";
import { fleet } from "../support/fleet.ts";
import { type Scene, scene } from "../support/scene.ts";
import { ALL, YES } from "./matrix.ts";
import { ends, killedAt, loadedRows, statusOf } from "./truth.ts";

/** Two whole batches as the tool has them, and two machines more. */
const BATCH = 500;
const MACHINES = 2 * BATCH + 2;
/** Rows are read so slowly that an index is worth it. */
const SLOW = { NOVA2IRONIC_ROW: "0.001" };

const INDEX = "nova2ironic_ports_node_id";
const INDEXES: { readonly [engine in Engine]: string | null } = {
  mysql: null, // makes its own
  postgresql: "SELECT count(*) AS n FROM pg_indexes WHERE indexname = ?",
  sqlite: "SELECT count(*) AS n FROM sqlite_master WHERE type = 'index' AND name = ?",
};

/** Indexes of a rollback that stand in Ironic, and what `status` says of one. */
async function lent(made: Scene): Promise<{ readonly there: number; readonly told: boolean }> {
  const asked = INDEXES[made.engine];
  const told = (await statusOf(made)).index !== null;
  if (asked === null) return { there: 0, told };
  const answer = await made.sql(async (db): Promise<unknown> => db.raw(asked, [INDEX]));
  const [row] =
    made.engine === "sqlite"
      ? (answer as [{ n: number }])
      : (answer as { rows: [{ n: string }] }).rows;
  return { there: Number(row.n), told };
}

/** Gives the tool's user the table, as many sites have it. */
async function ownPorts(db: Knex): Promise<void> {
  const grants = db("information_schema.role_table_grants").where({ table_name: "ports" });
  const { grantee } = await grants.whereLike("grantee", "tool_%").first("grantee");
  await db.raw(`GRANT CREATE ON SCHEMA public TO ${grantee}`);
  await db.raw(`ALTER TABLE ports OWNER TO ${grantee}`);
}

for (const engine of ["sqlite", "mysql", "postgresql"] as const)
  test(`on ${engine}, batches of the tool's own size are killed, gone on with and taken back`, async (t) => {
    const made = await scene(engine, t, fleet(MACHINES), { env: SLOW });
    const before = await made.digest();
    if (engine === "postgresql") {
      const { err } = await ends(0, made.start("plan", made.plan));
      assert.match(
        err,
        /Taking back 1002 nodes .* \(ports\.node_id\), and this user does not own it\./,
      );
      assert.match(
        err,
        /its owner runs: CREATE INDEX nova2ironic_ports_node_id ON ports \(node_id\);/,
      );
      await made.sql(ownPorts);
    }
    await killedAt(made, "commit.after:2", "apply", YES);
    assert.equal(await loadedRows(made), 4 * BATCH);
    await ends(0, made.does("apply", YES));
    assert.match(
      (await statusOf(made)).apply,
      new RegExp(`: ${2 * MACHINES} rows created in 3 batches$`),
    );
    await ends(0, made.does("verify"));
    await killedAt(made, "commit.before:2", "rollback", ALL);
    assert.equal(await loadedRows(made), 2 * (MACHINES - BATCH));
    const lends = engine !== "mysql";
    assert.deepEqual(await lent(made), { there: lends ? 1 : 0, told: lends });
    await ends(0, made.does("rollback", ALL));
    assert.deepEqual(await lent(made), { there: 0, told: false });
    assert.equal(await made.digest(), before);
  });
