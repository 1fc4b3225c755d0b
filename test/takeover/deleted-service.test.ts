import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Engine } from "../../src/model/database.ts";
import { ends, run } from "../hostile/cli.ts";
import { engines } from "../lab/engines.ts";
import { smallBatches } from "../support/batches.ts";
import { ago, DOWN, deadCloud, type HostCloud, QUICK, TAKE, uuidOf } from "./cloud.ts";

/** Nova's `service delete` of H1: its record and its compute nodes, while its instances stay. */
async function deleteService({ db }: HostCloud, service = 1): Promise<void> {
  await db("services").where({ id: service }).update({ deleted: service });
  await db("compute_nodes")
    .where({ host: "H1" })
    .update({ deleted: db.ref("id"), deleted_at: ago(60) });
}

/** The nova-compute of H1 starts: Nova makes a new record, which reports or did so long ago. */
async function startsAgain({ db }: HostCloud, id: number, age = 0): Promise<void> {
  const { id: _, ...row } = await db("services").where({ id: 1 }).first();
  const now = { last_seen_up: ago(age), updated_at: ago(age), report_count: 1 };
  await db("services").insert({ ...row, ...now, id, deleted: 0, forced_down: false });
}

/** As the resource tracker of a host does at its next pass. */
async function takesNodes({ db }: HostCloud, host: string): Promise<void> {
  const now = { deleted: 0, deleted_at: null, host };
  await db("compute_nodes").whereNot({ deleted: 0 }).update(now);
}

/** H1 with three tenants and no record; H2 took the compute node of the third already. */
async function deleted(t: TestContext, engine: Engine): Promise<HostCloud> {
  const cloud = await deadCloud(t, { engine, machines: 3, tenants: true });
  await cloud.db("compute_nodes").where({ id: 3 }).update({ host: "H2" });
  await deleteService(cloud);
  return cloud;
}

const hostsOf = async ({ db }: HostCloud): Promise<string> =>
  (await db("instances").orderBy("id").pluck("host")).join(" ");

for (const engine of engines("sqlite", "mysql")) {
  test(`on ${engine}, a dead host whose service record was deleted is taken over once its death is confirmed`, async (t) => {
    const cloud = await deleted(t, engine);
    const { host, folder } = cloud;
    const shown = await ends(0, host(...TAKE, ...QUICK, "--plan"));
    assert.match(shown.out + shown.err, /N2I-D270 compute host H1: Nova has no live nova-compute/);
    const unsaid = await ends(4, host(...TAKE, ...QUICK, "--yes"));
    assert.match(unsaid.err, /N2I-E303 --yes does not confirm that H1 is down/);
    const fence = join(folder, "fence");
    const words = [...TAKE, ...QUICK, "--fence-command", fence, "--yes"];
    writeFileSync(fence, '#!/bin/sh\necho "$NOVA2IRONIC_HOST $1"; exit 3\n', { mode: 0o700 });
    const refused = await ends(4, host(...words));
    assert.match(refused.err, /Fence command: H1 H1.*N2I-E316 --fence-command ended with 3/s);
    assert.equal(await hostsOf(cloud), "H1 H1 H1");
    writeFileSync(fence, "#!/bin/sh\nexit 0\n", { mode: 0o700 });
    const fenced = await ends(0, host(...words));
    assert.match(fenced.out, /^Host move: 3 rows changed, 0 already done\.$/m);
    assert.equal(await hostsOf(cloud), "H2 H2 H2");
    await ends(0, host("rollback", "--all", "--yes"));
    assert.equal(await hostsOf(cloud), "H1 H1 H1");
    await ends(0, host(...DOWN));
    assert.equal(await hostsOf(cloud), "H2 H2 H2");
  });

  test(`on ${engine}, verify exits with 2 once a new service record of the host appears, until it is readmitted`, async (t) => {
    const cloud = await deleted(t, engine);
    const { host, db } = cloud;
    await ends(0, host(...DOWN));
    const verify = () => host("verify", "--queue-purged", "--all-rows");
    assert.match((await ends(2, verify())).out, /nova-compute of H2 creates one in its next pass/);
    await takesNodes(cloud, "H2");
    assert.match((await ends(0, verify())).out, /services:H1 .*validated/);
    // It reports no more, and somebody forced it down: it started all the same.
    for (const forced_down of [false, true]) {
      await startsAgain(cloud, 9, 600);
      await db("services").where({ id: 9 }).update({ forced_down });
      const { out } = await ends(2, verify());
      assert.match(out, /services:9 .*nova-compute of H1 started and created a new service/);
      await db("services").where({ id: 9 }).del();
    }
    await startsAgain(cloud, 10, 600);
    const readmit = ["host", "readmit", "H1", "--yes"];
    assert.match((await ends(4, host(...readmit))).err, /compute\.H1 may not be empty/);
    const back = await ends(0, host(...readmit, "--queue-purged"));
    assert.match(back.out, /^H1 can return to service: start its nova-compute\.$/m);
    await ends(0, verify());
    assert.match((await host(...readmit, "--queue-purged")).err, /did not fence H1/);
    // It dies once more, and this time there is a record to fence.
    await db("instances").where({ id: 1 }).update({ host: "H1" });
    await db("compute_nodes").where({ id: 1 }).update({ host: "H1" });
    assert.match((await ends(0, host(...DOWN))).out, /1 host fenced, 2 rows changed/);
    await ends(0, verify());
    await db("services").where({ id: 10 }).update({ forced_down: false });
    assert.match((await ends(2, verify())).out, /H1 is no longer fenced/);
  });

  test(`on ${engine}, a list names machines of which only the instance is left, with its host`, async (t) => {
    const cloud = await deleted(t, engine);
    const { db, nova } = cloud;
    // Virtual machines, and those of nova-baremetal, are none of the list's.
    const [tenant, compute] = [
      await db("instances").where({ id: 1 }).first(),
      await db("compute_nodes").where({ id: 1 }).first(),
    ];
    const baremetal = uuidOf("node", 9);
    for (const [id, node] of [[8, "kvm1"] as const, [9, baremetal] as const])
      await db("instances").insert({ ...tenant, id, uuid: uuidOf("instance", id), node });
    await db("compute_nodes").insert({
      ...{ ...compute, id: 9, uuid: baremetal, hypervisor_hostname: baremetal },
      ...{ hypervisor_type: "baremetal", deleted: 0 },
    });
    const listed = await ends(0, run(["host", "list", ...nova, "-f", "json"]));
    const rows = JSON.parse(listed.out) as readonly { readonly [column: string]: string }[];
    const shown = rows.map((row) => `${row.Machine?.at(-1)} ${row.Owner} ${row.Up} ${row.State}`);
    assert.deepEqual(shown, [
      ...["3 H2, H1 up active", "1 H2 up idle", "2 H3 up idle"],
      ...["1 H1 null active", "2 H1 null active"],
    ]);
  });
}

test("a host that starts amid its takeover keeps the rest of its machines", async (t) => {
  smallBatches(t);
  const cloud = await deadCloud(t, { machines: 6, tenants: true });
  const { host, db } = cloud;
  await deleteService(cloud);
  const columns = 'host, "binary", topic, report_count, deleted, forced_down, last_seen_up';
  await db.raw(
    `CREATE TRIGGER starts AFTER UPDATE ON instances WHEN NEW.id = 1 BEGIN INSERT INTO services (${columns}) VALUES ('H1', 'nova-compute', 'compute', 1, 0, 0, '${ago(0)}'); END`,
  );
  const cut = await ends(5, host(...DOWN));
  assert.match(cut.err, /nova-compute reported from H1/);
  assert.equal(await hostsOf(cloud), "H2 H2 H2 H2 H1 H1");
});

test("a service record that is deleted after the takeover is no fault, and a new one is", async (t) => {
  const cloud = await deadCloud(t, { tenants: true });
  const { host, db } = cloud;
  await ends(0, host(...DOWN));
  await db("services").where({ id: 1 }).update({ deleted: 1 });
  const verify = () => host("verify", "--queue-purged");
  await ends(0, verify());
  await startsAgain(cloud, 9, 600);
  assert.match((await ends(2, verify())).out, /services:9 .*nova-compute of H1 started/);
  await ends(0, host("host", "readmit", "H1", "--yes", "--queue-purged"));
  await ends(0, verify());
});
