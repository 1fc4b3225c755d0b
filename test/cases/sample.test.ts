import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { writeSample } from "../../src/demo/demo.ts";
import { openRole } from "../../src/run/databases.ts";
import { FOLDER, readCase } from "../fixtures/plans.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { matchesGolden } from "../support/golden.ts";
import { novaConfs } from "./load-case.ts";
import { siteOf, writeCase } from "./write-case.ts";

test("the sample that the demo writes is the deployment of its case", async (t) => {
  const folder = privateFolder(t);
  const given = readCase("demo");
  await writeCase(given, folder);
  const database = async (name: string, version: number | string | undefined) => ({
    version,
    rows: await rowsOf(join(folder, `${name}.sqlite`)),
  });
  const sample = {
    databases: {
      nova_bm: await database("nova_bm", given.nova_bm.version),
      nova: await database("nova", 254),
      ironic: await database("ironic", given.ironic?.release),
    },
    nova_conf: Object.fromEntries(novaConfs(given).map(({ host, text }) => [host, text])),
    site: siteOf(given),
  };
  matchesGolden(join(FOLDER, "demo", "sample.json"), `${JSON.stringify(sample, null, 1)}\n`);
  const other = privateFolder(t);
  await writeSample(other);
  const names = readdirSync(folder).sort();
  assert.deepEqual(readdirSync(other).sort(), names);
  const content = (path: string) =>
    path.endsWith(".sqlite") ? rowsOf(path) : readFileSync(path, "utf8");
  for (const name of names)
    assert.deepEqual(await content(join(other, name)), await content(join(folder, name)), name);
});

/** The rows of each table that has any, without the version. */
async function rowsOf(path: string): Promise<{ readonly [table: string]: readonly object[] }> {
  const { knex, close } = await openRole("nova-db", `sqlite:///${path}`, { readOnly: true });
  try {
    const tables: readonly { readonly name: string }[] = await knex.raw(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%_version' ORDER BY rowid",
    );
    const rows = await Promise.all(
      tables.map(async ({ name }) => [name, await knex(name).select()] as const),
    );
    const text = JSON.stringify(
      Object.fromEntries(rows.filter(([, all]) => all.length > 0)),
      (_, value: unknown) => (typeof value === "bigint" ? Number(value) : value),
    );
    return JSON.parse(text) as { readonly [table: string]: readonly object[] };
  } finally {
    await close();
  }
}
