import assert from "node:assert/strict";
import { test } from "node:test";
import { ends, run, runs } from "../hostile/cli.ts";
import { type Deployment, deploy } from "../hostile/deployment.ts";
import { checkRows } from "./check-output.ts";
import { cloud } from "./cloud.ts";

const NAME = "eisen-\u0142\u00f3d\u017a";

async function charsets(made: Deployment): Promise<string> {
  return (await checkRows(made))("Charsets");
}

/** Says each ALTER TABLE that a row names. */
async function fix({ nova }: Deployment, details: string): Promise<void> {
  const statements = details.match(/ALTER TABLE [^;\n]+/g) ?? [];
  assert.ok(statements.length > 0, details);
  for (const statement of statements) await nova.db.raw(statement);
}

for (const [engine, charset] of [
  ["mysql", "latin1"],
  ["mysql", "utf8mb3"],
  ["postgresql", "latin1"],
] as const)
  test(`on ${engine}, a nova of ${charset} is fine until its text, or the plan's, is not plain ASCII`, async (t) => {
    const given = cloud({ machines: 2, others: 2 });
    const made = await deploy(engine, t, given, { nova: charset });
    const { at, source, reader, nova } = made;
    await runs(0, ["extract", ...at, ...source, "-q"]);
    const planned = (host: string) =>
      runs(0, [
        ...["plan", ...at, ...reader, ...source.slice(2, 4), ...made.plan],
        ...["--compute-host", host, "-q"],
      ]);
    await planned("ironic-compute");
    assert.match(await charsets(made), new RegExp(`^Success: .*nova's (${charset}|utf8)`));
    // Names of other machines than ours are nobody's matter.
    await nova.db("instances").update({ display_name: "g\u00e9rant" });
    const told = await charsets(made);
    if (charset === "utf8mb3") assert.match(told, /^Success/);
    else assert.match(told, /^Warning: 1 .*instances\.display_name \(latin1\) in 2 rows\./);
    if (engine === "mysql" && charset === "latin1") {
      await fix(made, told);
      assert.match(await charsets(made), /^Success: .*nova's latin1 and utf8mb3/);
      const [row] = await nova.db("instances").limit(1);
      assert.equal(row?.display_name, "g\u00e9rant");
    }
    await nova.db("instances").update({ display_name: "plain" });
    const host = charset === "utf8mb3" ? `${NAME}-\u{1f680}` : NAME;
    await planned(host);
    const odd = await charsets(made);
    assert.match(odd, new RegExp(`^Failure: \\d texts of the plan .*\\(${charset}\\) "${host}"`));
    if (engine === "postgresql") return assert.match(odd, /Fix: .*createdb -E UTF8/);
    await fix(made, odd);
    assert.match(await charsets(made), /^Success/);
    const words = [...at, ...made.writer, ...made.novaWriter, "--yes", "-q"];
    await ends(0, run(["apply", ...words]));
    assert.equal((await nova.db("instances").where({ host })).length, 2);
  });

test("collations of host names that MariaDB refuses to compare are told, and fixed by what is said", async (t) => {
  const made = await deploy("mysql", t, cloud({ machines: 2, others: 2 }));
  const { db } = made.nova;
  const join = () => db.raw("SELECT 1 FROM services s JOIN instances i ON s.host = i.host LIMIT 1");
  // One charset holds the other, and is compared by its collation.
  await db.raw("ALTER TABLE services CONVERT TO CHARACTER SET latin1");
  await join();
  assert.match(await charsets(made), /^Success/);
  await db.raw("ALTER TABLE services CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci");
  await assert.rejects(join(), { code: "ER_CANT_AGGREGATE_2COLLATIONS" });
  const told = await charsets(made);
  assert.match(told, /^Warning: \d columns of host names .*services\.host utf8mb4_unicode_ci/);
  await fix(made, told);
  await join();
  assert.match(await charsets(made), /^Success/);
});
