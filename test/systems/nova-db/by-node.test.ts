import assert from "node:assert/strict";
import { locationsIn, openComputes } from "../../../src/systems/nova-db/by-node.ts";
import { engines, test } from "../../lab/engines.ts";
import { withDatabase } from "../../lab/index.ts";
import { openedAt } from "../../support/opened.ts";

for (const engine of engines())
  for (const [release, host] of [
    ["Juno", ""],
    ["Kilo", ", host VARCHAR(255)"],
  ] as const)
    test(`on ${engine}, compute nodes of ${release} without a service have sizes`, async (t) => {
      const { db, url } = await withDatabase(engine, t);
      const size = "vcpus INTEGER, memory_mb INTEGER, local_gb INTEGER, deleted INTEGER";
      const names = "hypervisor_hostname VARCHAR(255), hypervisor_type VARCHAR(255)";
      await db.raw("CREATE TABLE services (id INTEGER, host VARCHAR(255), deleted INTEGER)");
      await db.raw(
        `CREATE TABLE compute_nodes (id INTEGER PRIMARY KEY, service_id INTEGER, ${names}, ${size}${host})`,
      );
      await db("services").insert([
        { id: 1, host: "a", deleted: 0 },
        { id: 2, host: "b", deleted: 2 },
      ]);
      const row = {
        hypervisor_hostname: "Node-1",
        vcpus: 8,
        memory_mb: 1,
        local_gb: 1,
        deleted: 0,
      };
      await db("compute_nodes").insert([
        { ...row, id: 1, service_id: 1, hypervisor_type: "ironic" },
        { ...row, id: 2, service_id: 2, hypervisor_type: "ironic" },
        { ...row, id: 3, service_id: 1, hypervisor_type: "QEMU" },
        { ...row, id: 4, service_id: 1, hypervisor_type: "ironic", deleted: 4 },
      ]);
      const computesOf = await openComputes(await openedAt(url, t, { readOnly: true }));
      const rowsOf = async (of: typeof computesOf | ReturnType<typeof locationsIn>) =>
        (await of(["node-1"])).get("node-1")?.map(({ id, host }) => [id, host]);
      const orphan = [2, null];
      assert.deepEqual(await rowsOf(computesOf), [[1, "a"], orphan, [3, "a"]]);
      const located = [[1, "a"], ...(release === "Kilo" ? [orphan] : [])];
      assert.deepEqual(await rowsOf(locationsIn(computesOf)), located);
    });
