import assert from "node:assert/strict";
import { test } from "node:test";
import type { Machine } from "../../../src/model/machine.ts";
import { loadTables } from "../../../src/run/files/load-tables.ts";
import { createTables } from "../../../src/systems/database/create-tables.ts";
import { readSchema } from "../../../src/systems/nova-bm/open.ts";
import { readMachines } from "../../../src/systems/nova-bm/read.ts";
import { engines } from "../../lab/engines.ts";
import { withDatabase } from "../../lab/index.ts";
import { openedAt } from "../../support/opened.ts";
import { seal } from "../../support/planned-case.ts";

const UUID = "0a000000-0000-4000-8000-00000000000";

const INSTANCE = { instance_uuid: "b0000000-0000-4000-8000-000000000001" };

/** Machines by number, with what another one has in another spelling; 5 is deleted, its interfaces are not. */
const NODES = [
  { id: 1, uuid: `${UUID}1` },
  { id: 2, uuid: `${UUID}2` },
  { id: 3, uuid: `${UUID}3` },
  { id: 4, uuid: `${UUID}4`, service_host: "bm1 ", ...INSTANCE },
  { id: 5, uuid: `${UUID}5`, deleted: true, ...INSTANCE },
];
const ADDRESSES = [
  ["52:54:00:00:0a:01", 1],
  ["52-54-00-00-0A-01", 2],
  ["5254.0000.0a03", 3],
  ["52540000 0a03", 4],
  ["52:54:00:00:0A:04", 4],
  ["525400000a04", 5],
  ["525400000a05", 1],
  ["52:54:00:00:0a:05", 1],
  ["zz", 1],
  ["zzz", 2],
] as const;

for (const engine of engines())
  test(`on ${engine}, live machines that share a MAC are found however it is spelt, and no others`, async (t) => {
    const place = await withDatabase(engine, t);
    await createTables(place.db, loadTables("nova_bm"), { engine });
    await place.db("bm_nodes").insert(NODES.map((row) => ({ deleted: false, ...row })));
    const rows = ADDRESSES.map(([address, bm_node_id], at) => ({
      id: at + 1,
      address,
      bm_node_id,
    }));
    await place.db("bm_interfaces").insert(rows.map((row) => ({ deleted: false, ...row })));
    const database = await openedAt(place.url, t, { readOnly: true });
    const machines: Machine[] = [];
    for await (const batch of readMachines(database, await readSchema(database), seal))
      machines.push(...batch.machines);
    assert.deepEqual(machines[4]?.duplicates.holders, [`${UUID}4`], "where its instance is now");
    assert.deepEqual(machines[3]?.duplicates.holders, []);
    const padded = engine === "mysql" ? "bm1" : "bm1 ";
    assert.equal(machines[3]?.node.service_host, padded, "as the server compares");
    assert.deepEqual(
      machines.map(({ node, duplicates }) => [node.id, duplicates.address]),
      [
        [1, { "52:54:00:00:0a:01": [2] }],
        [2, { "52:54:00:00:0a:01": [1] }],
        [3, {}],
        [4, {}],
        [5, {}],
      ],
    );
  });
