import assert from "node:assert/strict";
import { test } from "node:test";
import { engines } from "../lab/engines.ts";
import { fleet } from "../support/fleet.ts";
import { refused, runs } from "./cli.ts";
import { countersOf } from "./counters.ts";
import { type Deployment, deploy, extractAndPlan, load } from "./deployment.ts";
import { digests, filesOf } from "./digest.ts";
import { SMALL } from "./fleet.ts";

/** Every command that only reads, the two that write in their dry form included. */
function readers({ at, source, reader, plan, run }: Deployment): readonly (readonly string[])[] {
  return [
    ["extract", ...at, ...source],
    ["plan", ...at, ...reader, ...plan, "--diff", "--all"],
    ["show", `${run}/snapshot.jsonl`],
    ["show", `${run}/plan`, "--diff"],
    ["status", ...at],
    ["rollback", ...at, ...reader, "--all", "--plan"],
    ["explain", "N2I-E206"],
  ];
}

for (const engine of engines("sqlite", "mysql")) {
  test(`on ${engine}, users with SELECT only suffice for every command that reads, and nothing is written`, async (t) => {
    const made = await deploy(engine, t, SMALL);
    const { at, reader, writer } = made;
    const counters = await countersOf(made);
    const [before, counted, files] = [await digests(made), await counters(), filesOf(made)];
    for (const words of readers(made)) await runs(0, words);
    await runs(2, ["verify", ...at, ...reader]); // nothing is loaded yet: every row is missing
    assert.deepEqual(await digests(made), before);
    assert.deepEqual(await counters(), counted);
    assert.deepEqual(filesOf(made), files);

    await runs(0, ["apply", ...at, ...writer, "--yes", "-q"]);
    const [loaded, written] = [await digests(made), await counters()];
    assert.notDeepEqual(loaded, before);
    assert.deepEqual(loaded.slice(0, 2), before.slice(0, 2), "the sources are never written");
    if (engine !== "sqlite") assert.notDeepEqual(written, counted, "the counters do count");
    for (const words of [
      ["verify", ...at, ...reader],
      ["rollback", ...at, ...reader, "--all", "--plan"],
      ["plan", ...at, ...reader, ...made.plan],
    ])
      await runs(0, words);
    assert.deepEqual(await digests(made), loaded);
    assert.deepEqual(await counters(), written);
  });
}

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, finish shows without writing, and changes nothing for a user who may not write`, async (t) => {
    const made = await deploy(engine, t, fleet(3, "2023.1"));
    const { at, reader, writer } = made;
    await load(made);
    const counters = await countersOf(made);
    const seen = async () => [await digests(made), await counters(), filesOf(made)];
    const loaded = await seen();
    const shown = await runs(0, ["finish", ...at, ...reader, "--plan", "-f", "value"]);
    assert.match(shown.out, /^clear \S+ 3 protected protected_reason automated_clean/m);
    assert.deepEqual(await seen(), loaded);
    if (engine !== "sqlite") {
      await refused(["finish", ...at, ...reader, "--yes", "-q"], 12, "N2I-E206");
      assert.deepEqual((await seen())[0], loaded[0]);
    }
    await runs(0, ["finish", ...at, ...writer, "--yes", "-q"]);
    const finished = await seen();
    assert.notDeepEqual(finished[0], loaded[0]);
    for (const undo of [[], ["--undo"]])
      await runs(0, ["finish", ...at, ...reader, "--plan", ...undo]);
    await runs(0, ["status", ...at]);
    assert.deepEqual(await seen(), finished);
  });

for (const engine of engines("mysql", "postgresql")) {
  test(`on ${engine}, apply and rollback as a user with SELECT only are refused before anything is written`, async (t) => {
    const made = await deploy(engine, t, SMALL);
    const { at, reader, writer } = made;
    await extractAndPlan(made);
    const before = await digests(made);
    await refused(["apply", ...at, ...reader, "--yes", "-q"], 12, "N2I-E206", [/SELECT, INSERT/]);
    assert.deepEqual(await digests(made), before);
    await runs(0, ["apply", ...at, ...writer, "--yes", "-q"]);
    const loaded = await digests(made);
    await refused(["rollback", ...at, ...reader, "--all", "--yes", "-q"], 12, "N2I-E206");
    assert.deepEqual(await digests(made), loaded);
    await runs(0, ["rollback", ...at, ...writer, "--all", "--yes", "-q"]);
    assert.deepEqual(await digests(made), before);
  });

  test(`on ${engine}, a privilege that is missing on ports alone stops the load with nothing kept`, async (t) => {
    const made = await deploy(engine, t, SMALL);
    const { at, writer, users, ironic } = made;
    await extractAndPlan(made);
    const before = await digests(made);
    const user = engine === "mysql" ? `'${users.writer}'@'127.0.0.1'` : users.writer;
    if (engine === "mysql") {
      await ironic.db.raw(`REVOKE INSERT ON ${ironic.name}.* FROM ${user}`);
      await ironic.db.raw(`GRANT INSERT ON ${ironic.name}.nodes TO ${user}`);
    } else await ironic.db.raw(`REVOKE INSERT ON ports FROM ${user}`);
    await refused(["apply", ...at, ...writer, "--yes", "-q"], 12, "N2I-E206", [/writing ports/]);
    assert.deepEqual(await digests(made), before);
  });

  test(`on ${engine}, a source table the user may not read is named, and no snapshot is left`, async (t) => {
    const made = await deploy(engine, t, SMALL);
    const { at, source, users, nova } = made;
    const words = ["extract", ...at, ...source, "-q"];
    if (engine === "mysql") {
      // MariaDB hides such a table, so that it cannot be told from one that is not there.
      await nova.db.raw(`REVOKE SELECT ON ${nova.name}.* FROM '${users.nova}'@'127.0.0.1'`);
      for (const table of ["migrate_version", "instances", "services", "compute_nodes"])
        await nova.db.raw(`GRANT SELECT ON ${nova.name}.${table} TO '${users.nova}'@'127.0.0.1'`);
      await refused(words, 4, "N2I-E202", [/--nova-db/, /user may not read/, /instance_types/]);
    } else {
      await nova.db.raw(`REVOKE SELECT ON instance_types FROM ${users.nova}`);
      await refused(words, 12, "N2I-E206", [/reading instance_types/, /SELECT on the sources/]);
    }
    await refused(["plan", ...at, ...made.reader, "-q"], 64, "N2I-E110", [/extract/]);
  });

  test(`on ${engine}, a column the user may not read is refused, not passed over`, async (t) => {
    const made = await deploy(engine, t, SMALL);
    const { at, source, users, bm } = made;
    const columns = Object.keys(await bm.db("bm_nodes").columnInfo());
    const most = columns.filter((name) => name !== "preserve_ephemeral").join(", ");
    if (engine === "mysql") {
      const user = `'${users.bm}'@'127.0.0.1'`;
      await bm.db.raw(`REVOKE SELECT ON ${bm.name}.* FROM ${user}`);
      await bm.db.raw(`GRANT SELECT (${most}) ON ${bm.name}.bm_nodes TO ${user}`);
      for (const table of ["bm_interfaces", "migrate_version"])
        await bm.db.raw(`GRANT SELECT ON ${bm.name}.${table} TO ${user}`);
    } else {
      await bm.db.raw(`REVOKE SELECT ON bm_nodes FROM ${users.bm}`);
      await bm.db.raw(`GRANT SELECT (${most}) ON bm_nodes TO ${users.bm}`);
    }
    await refused(["extract", ...at, ...source, "-q"], 12, "N2I-E206", [/columns of bm_nodes/]);
  });
}
