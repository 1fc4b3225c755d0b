import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Knex } from "knex";
import type { ArchivedRow } from "../../src/model/archive.ts";
import type { Engine } from "../../src/model/database.ts";
import { refused, runs } from "../hostile/cli.ts";
import { type Deployment, deploy } from "../hostile/deployment.ts";
import { SITE, tenant } from "../hostile/fleet.ts";
import { engines, testOnce } from "../lab/engines.ts";
import { type TestDatabase, withDatabase } from "../lab/index.ts";
import { digestOf } from "./rows.ts";

/** As devstack made it: a name in Latin-1, and a fork's columns of kinds that drivers change. */
async function finished(engine: Engine, t: TestContext): Promise<Deployment> {
  const given = {
    shows: "what an archive must keep",
    nova_bm: {
      columns: { bm_nodes: { rack: "varchar(20)", weight: "decimal(10,2)" } },
      nodes: [
        tenant(1, { rack: "Köln 1", weight: "1.50" }),
        { id: 2, pm_password: "p'w\\" },
        { id: 3, deleted: true, pm_password: "p'w é", created_at: "2013-05-01 10:00:00" },
        { id: 90, rack: "", updated_at: null },
      ],
    },
    site: { ...SITE, drop: { "bm_nodes.rack": "not asked for", "bm_nodes.weight": "likewise" } },
  };
  const made = await deploy(engine, t, given, { bm: "latin1" });
  await oddities(made.bm.db, engine);
  const { at, source, reader, writer, plan } = made;
  await runs(0, ["extract", ...at, ...source, "-q"]);
  await runs(0, ["plan", ...at, ...reader, ...plan, "-q"]);
  await runs(0, ["apply", ...at, ...writer, "--yes", "-q"]);
  await runs(0, ["finish", ...at, ...writer, "--yes", "-q"]);
  return made;
}

/** A table of somebody's, with what a driver would change. */
async function oddities(db: Knex, engine: Engine): Promise<void> {
  const bytes = { mysql: "varbinary(9)", postgresql: "bytea", sqlite: "blob" }[engine];
  const float = engine === "postgresql" ? "double precision" : "double";
  await db.raw(`CREATE TABLE racks (large bigint, raw ${bytes}, height ${float}, note text)`);
  const raw = Buffer.from([0, 255, 39, 10]);
  const whole = { large: "9007199254740993", raw, height: 1, note: "a\n\tb" };
  await db("racks").insert([whole, { large: -1, raw: null, height: 0.1, note: null }]);
  if (engine === "sqlite")
    await db.raw("UPDATE bm_nodes SET rack = CAST(x'4bf66c6e0031' AS TEXT) WHERE id = 3");
}

function addressOf({ folder }: Deployment, { engine, name, url }: TestDatabase): string {
  if (engine === "sqlite") writeFileSync(name, "");
  const path = join(folder, "empty.url");
  writeFileSync(path, url, { mode: 0o600 });
  return path;
}

for (const engine of engines()) {
  test(`on ${engine}, a user who only reads makes an archive of every row, and it restores to the same rows`, async (t) => {
    const made = await finished(engine, t);
    const { at, run, source, reader, bm } = made;
    const words = ["retire", ...at, ...source.slice(0, 2), ...reader];
    const before = await digestOf(bm);
    const { out } = await runs(0, [...words, "--yes"]);
    assert.match(
      out,
      /^Archived 11 rows of 4 tables in .*\/nova_bm\.jsonl \(sha256 [0-9a-f]{12}\)/,
    );
    const file = join(run, "nova_bm.jsonl");
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(
      readdirSync(run).filter((name) => name.includes("tmp") || name.includes("sqlite")),
      [],
    );
    const empty = await withDatabase(engine, t, "latin1");
    const url = addressOf(made, empty);
    const restore = ["retire", ...at, "--restore", `file:${url}`, "--yes"];
    await runs(0, restore);
    assert.deepEqual(await digestOf(empty), before);
    assert.equal(await digestOf(bm), before);
    await refused([...restore, "-q"], 4, "N2I-E342", [/has a table/]);
    // Ids go on after the last.
    await empty.db("bm_nodes").insert({ pm_address: "new" });
    assert.equal((await empty.db("bm_nodes").where({ pm_address: "new" }).first("id")).id, 91);
  });
}

const OTHERS = { mysql: ["postgresql"], postgresql: ["mysql", "sqlite"] } as const;

for (const from of engines("mysql", "postgresql"))
  for (const to of OTHERS[from])
    test(`an archive of ${from} restores into ${to}`, async (t) => {
      const made = await finished(from, t);
      const empty = await withDatabase(to, t);
      const { at, source, reader } = made;
      await runs(0, ["retire", ...at, ...source.slice(0, 2), ...reader, "--yes", "-q"]);
      const url = addressOf(made, empty);
      await runs(0, ["retire", ...at, "--restore", `file:${url}`, "--yes"]);
      const names = await empty.db("bm_nodes").orderBy("id").pluck("rack");
      assert.deepEqual(names, ["Köln 1", null, null, ""]);
    });

testOnce("an archive holds the rows and no secret in clear", async (t) => {
  const { at, run, source, reader } = await finished("sqlite", t);
  await runs(0, ["retire", ...at, ...source.slice(0, 2), ...reader, "--yes", "-q"]);
  const text = readFileSync(join(run, "nova_bm.jsonl"), "utf8");
  const [head = "{}", ...lines] = text.trimEnd().split("\n");
  assert.equal(JSON.parse(head).source.schema_version, 10);
  const rows = lines.slice(0, -1).map((line) => JSON.parse(line) as ArchivedRow);
  assert.deepEqual(rows.map(({ table }) => table).sort(), [
    ...Array.from({ length: 4 }, () => "bm_interfaces"),
    ...Array.from({ length: 4 }, () => "bm_nodes"),
    "migrate_version",
    "racks",
    "racks",
  ]);
  assert.doesNotMatch(text, /p'w/);
  assert.match(text, /\{"bytes":"S/);
});
