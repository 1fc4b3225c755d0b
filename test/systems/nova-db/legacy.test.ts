import assert from "node:assert/strict";
import { test } from "node:test";
import { loadTables } from "../../../src/run/files/load-tables.ts";
import { createTables } from "../../../src/systems/database/create-tables.ts";
import { openFreshComputes } from "../../../src/systems/nova-db/legacy.ts";
import { engines } from "../../lab/engines.ts";
import { withDatabase } from "../../lab/index.ts";
import { openedAt } from "../../support/opened.ts";

for (const engine of engines())
  test(`on ${engine}, compute nodes made since are found with those before, and none of no machines`, async (t) => {
    const place = await withDatabase(engine, t);
    const { db } = place;
    await createTables(db, loadTables("nova", 254), { engine });
    const add = async (id: number, hypervisor_hostname: string) => {
      const used = { vcpus: 1, memory_mb: 1, local_gb: 1, vcpus_used: 0, memory_mb_used: 0 };
      await db("compute_nodes").insert({
        ...{ id, hypervisor_hostname, hypervisor_type: "ironic", service_id: 1, deleted: 0 },
        ...{ ...used, local_gb_used: 0, hypervisor_version: 1, cpu_info: "" },
      });
    };
    await db("services").insert({ id: 1, host: "c-1", report_count: 0, deleted: 0 });
    await add(1, "a-1");
    const database = await openedAt(place.url, t, { readOnly: true });
    const computesOf = await openFreshComputes(database);
    await add(2, "a-1");
    await add(3, "a-2");
    assert.equal((await computesOf([])).size, 0);
    const found = await computesOf(["A-1", "a-2", "a-3"]);
    assert.deepEqual(
      [...found].map(([node, rows]) => [node, rows.map(({ id, owner }) => `${id} of ${owner}`)]),
      [
        ["a-1", ["1 of c-1", "2 of c-1"]],
        ["a-2", ["3 of c-1"]],
        ["a-3", []],
      ],
    );
  });
