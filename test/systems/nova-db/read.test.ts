import assert from "node:assert/strict";
import { test } from "node:test";
import { createTextSet, index, type TextSet } from "../../../src/model/rows.ts";
import { loadTables } from "../../../src/run/files/load-tables.ts";
import { createTables } from "../../../src/systems/database/create-tables.ts";
import { inPortions } from "../../../src/systems/database/rows.ts";
import { openFreshComputes } from "../../../src/systems/nova-db/legacy.ts";
import { openNova, readMetadata } from "../../../src/systems/nova-db/read.ts";
import { engines } from "../../lab/engines.ts";
import { type TestDatabase, withDatabase } from "../../lab/index.ts";
import { openedAt } from "../../support/opened.ts";

const uuidOf = (n: number): string => `b0000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const DISK = "image_disk_format";

function claimed(uuids: readonly string[]): TextSet {
  const met = createTextSet();
  for (const uuid of uuids) met.add(uuid);
  return met;
}

/** Nova's instances, their metadata one key after the other, so that an instance's rows are pages apart. */
async function writeMetadata({ db }: Pick<TestDatabase, "db">, instances: number): Promise<void> {
  const numbers = Array.from({ length: instances }, (_, n) => n);
  for (const some of inPortions(numbers, 100))
    await db("instances").insert(some.map((n) => ({ uuid: uuidOf(n), deleted: 0 })));
  for (const key of ["instance_type_name", DISK])
    for (const some of inPortions(numbers, 100))
      await db("instance_system_metadata").insert(
        some.map((n) => ({ instance_uuid: uuidOf(n), key, value: `${key} ${n}`, deleted: 0 })),
      );
}

for (const engine of engines())
  test(`on ${engine}, metadata is held of machines' instances alone, whose rows are pages apart`, async (t) => {
    const place = await withDatabase(engine, t);
    await createTables(place.db, loadTables("nova", 254), { engine });
    await writeMetadata(place, 2100);
    const database = await openedAt(place.url, t, { readOnly: true });
    const own = [0, 1, 1050, 1999, 2000, 2099];
    const of = claimed(own.map(uuidOf));
    const rows = await readMetadata(database, of);
    assert.equal(rows.length, own.length * 2);
    for (const n of own)
      assert.deepEqual(
        index(rows, "instance")(uuidOf(n)).map(({ name, value }) => [name, value]),
        ["instance_type_name", DISK].map((key) => [key, `${key} ${n}`]),
      );
  });

for (const engine of engines())
  test(`on ${engine}, a Nova of many other instances says the same of machines' own`, async (t) => {
    const place = await withDatabase(engine, t);
    const { db } = place;
    await createTables(db, loadTables("nova", 254), { engine });
    const numbers = Array.from({ length: 12 }, (_, n) => n);
    await db("instances").insert(
      numbers.map((n) => ({ uuid: uuidOf(n), node: `node-${n}`, host: "c-1", deleted: 0 })),
    );
    // Each key of all instances before the next one: no instance's rows stand beside each other.
    for (const key of ["instance_type_name", DISK, "instance_type_vcpus"])
      await db("instance_system_metadata").insert(
        numbers.map((n) => ({
          ...{ instance_uuid: uuidOf(n), key, deleted: 0 },
          value: `${key} of ${n % 5}`,
        })),
      );
    await db("instance_system_metadata").insert([
      { instance_uuid: uuidOf(1), key: DISK, value: "gone", deleted: 1 },
      { instance_uuid: uuidOf(2), key: DISK, value: null, deleted: 0 },
    ]);
    const asked = [3, 1, 2, 40].map((n) => ({
      ...{ id: n, uuid: `node-${n}`, service_host: "c-1" },
      instance_uuid: n === 3 ? uuidOf(n).toUpperCase() : uuidOf(n),
    }));
    const seen = [];
    // In order those held; of none by instance, on MySQL as of a Nova of many; and of one that is claimed meanwhile.
    for (const all of [[1, 2, 3, 40], [], [1, 3]]) {
      const database = await openedAt(place.url, t, { readOnly: true });
      const nova = await openNova(database, claimed(all.map(uuidOf)));
      seen.push(await nova.view(asked));
      await nova.close();
    }
    const [inOrder, byInstance, meanwhile] = seen;
    assert.deepEqual(inOrder, byInstance);
    assert.deepEqual(inOrder, meanwhile);
    const described = inOrder?.map(({ instance }) => instance?.system_metadata ?? null);
    const of = (n: number) => ({
      instance_type_name: `instance_type_name of ${n}`,
      [DISK]: `${DISK} of ${n}`,
    });
    assert.deepEqual(described, [of(3), of(1), { ...of(2), [DISK]: null }, null]);
  });

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
