import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Machine } from "../../../src/model/machine.ts";
import { run, runs } from "../../hostile/cli.ts";
import { type Deployment, deploy } from "../../hostile/deployment.ts";
import { checkSays } from "./check-output.ts";
import { cloud } from "./cloud.ts";

const TABLES = ["instances", "compute_nodes", "services"];

/** `deleted` of these tables in another type, as a copy of nova may have it. */
async function retyped(made: Deployment, type: string, using = ""): Promise<void> {
  for (const table of TABLES) {
    const { db } = made.nova;
    const [mysql, postgresql] = [`MODIFY deleted ${type}`, `ALTER deleted TYPE ${type} ${using}`];
    if (made.nova.engine === "postgresql")
      await db.raw(`ALTER TABLE ${table} ALTER deleted DROP DEFAULT`);
    await db.raw(`ALTER TABLE ${table} ${made.nova.engine === "mysql" ? mysql : postgresql}`);
  }
}

/** What a snapshot says of the instances of its machines, by machine. */
function instances(folder: string): readonly unknown[] {
  const lines = readFileSync(join(folder, "snapshot.jsonl"), "utf8").trimEnd().split("\n");
  return lines.slice(1, -1).map((line) => {
    const { nova } = JSON.parse(line) as Machine;
    return nova?.undecided ?? nova?.instance?.deleted;
  });
}

test("where nova's deleted is BIT(1), and NULL for one, extract and check agree on who is deleted", async (t) => {
  const made = await deploy("mysql", t, cloud({ machines: 4, others: 1 }));
  await retyped(made, "BIT(1)");
  const { db } = made.nova;
  await db("instances").where({ id: 2 }).update({ deleted: 1 });
  await db("instances").where({ id: 3 }).update({ deleted: null });
  await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
  assert.deepEqual(instances(made.run), [false, true, "NULL", false]);
  const { out } = await run(["plan", ...made.at, ...made.reader, ...made.plan, "-q"]);
  assert.match(out, /N2I-D123/);
  await checkSays(made, "Deleted instances", /\(1\): .*000000000002/s);
});

test("a nova whose deleted cannot be compared with 0 is refused by its columns' names", async (t) => {
  const made = await deploy("postgresql", t, cloud({ machines: 1 }));
  await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
  // As nova's own migrations make it: not one that is asked for deleted = 0.
  await made.nova.db.raw("CREATE TABLE dns_domains (domain varchar(255), deleted boolean)");
  await runs(0, ["extract", ...made.at, ...made.source, "-q"]);
  await retyped(made, "boolean", "USING deleted <> 0");
  const nova = made.source.slice(2, 4);
  for (const words of [
    ["extract", "--run", `${made.run}-2`, ...made.source],
    ["plan", ...made.at, ...made.reader, ...made.plan, ...nova],
  ]) {
    const { err } = await runs(4, [...words, "-q"]);
    assert.match(
      err,
      /N2I-E203.*compute_nodes\.deleted is boolean, .*instances\.deleted is boolean/s,
    );
  }
});
