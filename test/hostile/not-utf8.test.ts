import assert from "node:assert/strict";
import { test } from "node:test";
import { type Case, caseUuid } from "../cases/case.ts";
import { refused, runs } from "./cli.ts";
import { deployFiles, load } from "./deployment.ts";
import { digests } from "./digest.ts";
import { SITE, tenant } from "./fleet.ts";

// SQLite alone keeps text of any bytes; its driver ends the process at one that is not UTF-8.
const BYTES = "CAST(x'61ff62' AS text)";

const GIVEN: Case = {
  shows: "text that is not UTF-8",
  nova_bm: { nodes: [tenant(1), { id: 2 }, { id: 3 }] },
  nova: { instances: [{ uuid: caseUuid("instance", 1) }] },
  site: SITE,
};

test("text in Nova that is not UTF-8 is read as Latin-1, and told with its place", async (t) => {
  const made = await deployFiles(t, GIVEN);
  const { nova, bm, at, source, run } = made;
  for (const [table, columns] of Object.entries({
    instances: ["display_name", "host", "node", "image_ref"],
    instance_info_caches: ["network_info"],
    services: ["host"],
    compute_nodes: ["hypervisor_hostname", "hypervisor_type"],
    instance_types: ["name"],
  }))
    for (const column of columns) await nova.db.raw(`UPDATE ${table} SET ${column} = ${BYTES}`);
  await bm.db.raw(`UPDATE bm_nodes SET pm_address = ${BYTES}`);
  const before = await digests(made);
  await runs(0, ["extract", ...at, ...source, "-q"]);
  const { out } = await runs(0, ["show", `${run}/snapshot.jsonl`, "-f", "csv", "-c", "Findings"]);
  assert.match(out, /^".*N2I-D210.*"\r?$/m);
  assert.equal(out.match(/N2I-D210/g)?.length, 1, "only the machine of that instance");
  assert.deepEqual(await digests(made), before);
});

test("text in Ironic that is not UTF-8 makes its row a changed one, and the row is left alone", async (t) => {
  const made = await deployFiles(t, GIVEN);
  const { at, reader, writer, plan, ironic } = made;
  await load(made);
  const uuid = caseUuid("node", 2);
  await ironic.db.raw(`UPDATE nodes SET driver = ${BYTES} WHERE uuid = '${uuid}'`);
  await ironic.db.raw(`UPDATE nodes SET uuid = ${BYTES} WHERE uuid = '${caseUuid("node", 3)}'`);
  const verified = await runs(2, ["verify", ...at, ...reader, "-f", "csv"]);
  assert.match(verified.out, new RegExp(`${uuid}",2,"suspended","","driver is not UTF-8"`));
  assert.match(verified.out, /"aÿb","","extra"/);
  const shown = await runs(0, ["plan", ...at, ...reader, ...plan]);
  assert.match(shown.out, /1 drifted/);
  const undone = await runs(2, ["rollback", ...at, ...writer, "--all", "--yes"]);
  const says = new RegExp(`node:${uuid} \\| changed since it was loaded: driver`);
  assert.match(undone.out + undone.err, says);
  await ironic.db.raw(`UPDATE alembic_version SET version_num = ${BYTES}`);
  await refused(["plan", ...at, ...reader, ...plan], 4, "N2I-E204", [/aÿb/]);
});
