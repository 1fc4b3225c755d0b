import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ends, refused, run, runs } from "../../hostile/cli.ts";
import { engines } from "../../lab/engines.ts";
import { finishedRun } from "./scene.ts";

const ADDED = ["bm_boot_records", "bm_locks", "bm_service_leases"];

for (const engine of engines("sqlite", "mysql"))
  test(`on ${engine}, a nova_bm with leases is extracted, and its tables are among those to drop`, async (t) => {
    const made = await finishedRun(engine, t);
    const { words, bm, source, folder } = made;
    const url = join(folder, "owner.url");
    writeFileSync(url, bm.url, { mode: 0o600 });
    const place = ["--nova-bm-db", `file:${url}`];
    const schema = ["host", "schema"];
    await ends(2, run([...schema, "status", ...place]));
    const said = await runs(0, [...schema, "extend", ...place]);
    assert.match(
      said.out,
      /^Added to nova_bm of .*: bm_.*bm_nodes\.service_epoch.* is 10, as before\.$/m,
    );
    assert.match((await runs(0, [...schema, "extend", ...place])).out, /^Nothing to add/m);
    assert.match((await runs(0, [...schema, "status", ...place])).out, /^There: .*bm_locks/m);
    await refused([...schema, "widen", ...place], 64, "N2I-E100", [/extend, status or revert/]);
    await refused([...schema, "extend"], 64, "N2I-E100", [/--nova-bm-db/]);

    // What an agent and a move wrote is nothing of the machine, and nothing that changed since.
    await bm.db("bm_nodes").where({ id: 1 }).update({ service_epoch: 3, service_heartbeat_ms: 5 });
    await bm.db("bm_locks").insert({ resource: "host:a", token: 7 });
    const again = join(folder, "runs", "again");
    const extracted = await runs(0, ["extract", "--run", again, ...source]);
    assert.doesNotMatch(extracted.out + extracted.err, /N2I-D008|service_epoch/);
    const planned = ["plan", "--run", again, ...made.reader, ...made.plan, "--beside-others"];
    assert.match((await runs(0, planned)).out, /0 in conflict; 0 blocked/);
    const { out } = await runs(0, words);
    for (const table of ADDED) assert.match(out, new RegExp(`^DROP TABLE ${table};$`, "m"));
    // As nova-baremetal adds a machine: what it does not name has a default.
    await bm.db("bm_nodes").insert({ id: 900, deleted: false });
    const [row] = await bm.db("bm_nodes").where({ id: 900 });
    assert.equal(Number(row.service_epoch), 0);
    await bm.db("bm_nodes").where({ id: 900 }).delete();
    await refused([...schema, "revert", ...place], 4, "N2I-E303", [/--yes/]);
    assert.match((await runs(0, [...schema, "revert", ...place, "--yes"])).out, /^Removed from/m);
    assert.match((await runs(0, [...schema, "revert", ...place, "--yes"])).out, /^Nothing to/m);
  });
