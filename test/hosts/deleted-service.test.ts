import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Engine } from "../../src/model/database.ts";
import { ends, run } from "../hostile/cli.ts";
import { engines } from "../lab/engines.ts";
import { ago, deadCloud, type HostCloud, uuidOf } from "./cloud.ts";

/** Nova's `service delete` of H1: its record and its compute nodes, while its instances stay. */
async function deleteService({ db }: HostCloud, service = 1): Promise<void> {
  await db("services").where({ id: service }).update({ deleted: service });
  await db("compute_nodes")
    .where({ host: "H1" })
    .update({ deleted: db.ref("id"), deleted_at: ago(60) });
}

/** H1 with three tenants and no record; H2 took the compute node of the third already. */
async function deleted(t: TestContext, engine: Engine): Promise<HostCloud> {
  const cloud = await deadCloud(t, { engine, machines: 3, tenants: true });
  await cloud.db("compute_nodes").where({ id: 3 }).update({ host: "H2" });
  await deleteService(cloud);
  return cloud;
}

for (const engine of engines("sqlite", "mysql")) {
  test(`on ${engine}, a list names machines of which only the instance is left, with its host`, async (t) => {
    const cloud = await deleted(t, engine);
    const { db, nova } = cloud;
    // Virtual machines, and those of nova-baremetal, are none of the list's.
    const [tenant, compute] = [
      await db("instances").where({ id: 1 }).first(),
      await db("compute_nodes").where({ id: 1 }).first(),
    ];
    const others = [
      [8, "kvm1", null],
      [9, uuidOf("node", 9), "baremetal"],
    ] as const;
    for (const [id, node, hypervisor_type] of others) {
      await db("instances").insert({ ...tenant, id, uuid: uuidOf("instance", id), node });
      if (hypervisor_type !== null)
        await db("compute_nodes").insert({
          ...{ ...compute, id, uuid: node, hypervisor_hostname: node },
          ...{ hypervisor_type, deleted: 0 },
        });
    }
    const listed = await ends(0, run(["host", "list", ...nova, "-f", "json"]));
    const rows = JSON.parse(listed.out) as readonly { readonly [column: string]: unknown }[];
    assert.deepEqual(
      rows.map(
        ({ Machine, Owner, Up, State }) => `${String(Machine).slice(-1)} ${Owner} ${Up} ${State}`,
      ),
      [
        ...["3 H2, H1 up active", "1 H2 up idle", "2 H3 up idle"],
        ...["1 H1 null active", "2 H1 null active"],
      ],
    );
  });
}
