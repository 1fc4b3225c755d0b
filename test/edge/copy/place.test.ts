import assert from "node:assert/strict";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { Knex } from "knex";
import { outside } from "../../../src/edge/copy/outside.ts";
import { besideNamed, besideOf } from "../../../src/edge/copy/place.ts";
import type { Database } from "../../../src/edge/database/open.ts";
import { freeSpace } from "../../../src/edge/disk/run-folder.ts";
import type { Engine } from "../../../src/model/database.ts";
import { type CopySource, placeOf } from "../../../src/stages/rehearsal-copy.ts";
import { connect } from "../../lab/connect.ts";
import { refuses } from "../disk/temp-run.ts";

/** As far as these functions look. */
function named(engine: Engine, database: string): Database {
  const filename = engine === "sqlite" ? database : null;
  return {
    engine,
    address: { engine, database, filename, shown: `${engine}://h/${database}` },
  } as Database;
}

test("two databases of long names that begin alike have copies of different names", () => {
  const [one, other, short] = [`${"n".repeat(45)}_1`, `${"n".repeat(45)}_2`, "ironic"].map(
    (name) => besideOf(named("mysql", name)).database,
  );
  assert.notEqual(one, other);
  assert.deepEqual([one?.length, short], [63, "ironic_nova2ironic_rehearsal"]);
});

test("a copy that an earlier version named is found by that name, and no other is", () => {
  const long = `ironic_${"x".repeat(57)}`;
  const cut = `${long.slice(0, 41)}_nova2ironic_rehearsal`;
  for (const engine of ["mysql", "postgresql"] as const)
    assert.equal(besideNamed(named(engine, long), cut).database, cut);
  const source = named("mysql", long);
  assert.equal(besideNamed(source, "theirs").database, besideOf(source).database);
});

test("copies on one disk have room together, or the one too many is refused", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "n2i copies-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const size = Math.floor((await freeSpace(folder)) * 0.3);
  const [ironic, nova] = (["ironic-db", "nova-db"] as const).map((role): CopySource => {
    const path = join(folder, role);
    writeFileSync(path, "");
    truncateSync(path, size);
    return { role, source: named("sqlite", path) };
  }) as [CopySource, CopySource];
  const first = await placeOf(ironic);
  await placeOf(nova);
  await assert.rejects(placeOf(nova, [first]), refuses("N2I-E350", "Make room"));
});

test("a connection that cannot be shut again is lent to nobody", async (t) => {
  const place = { host: "", port: 0, user: "", password: "", socket: "" };
  const db = connect({ ...place, engine: "sqlite", database: ":memory:" });
  t.after(() => db.destroy());
  const transaction = async () => {
    const on = await db.transaction();
    const raw = (sql: string) =>
      sql.endsWith("=ON") ? Promise.reject(new Error("lost")) : on.raw(sql);
    return { raw, client: on.client as Knex.Client, rollback: () => on.rollback() };
  };
  const run = (_: string, work: () => Promise<unknown>) => work();
  const source = { engine: "sqlite", knex: { transaction }, run } as unknown as Database;
  const lent: unknown = await outside(source, async (on) => on.client.acquireConnection());
  const next: unknown = await db.client.acquireConnection();
  await db.client.releaseConnection(next);
  assert.notEqual(next, lent);
});
