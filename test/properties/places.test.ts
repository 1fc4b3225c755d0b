import assert from "node:assert/strict";
import { test } from "node:test";
import { caseUuid } from "../cases/case.ts";
import { disturb, loaded, NODES, PORTS, rich, told } from "../support/rich.ts";
import { rolledBack, verified } from "../support/stages.ts";

const STRANGER = caseUuid("vif", 77);
const idOf = (uuid: string): string => `(SELECT id FROM nodes WHERE uuid='${uuid}')`;
const [NODE, PORT] = [NODES[0], PORTS[0]];

/** What somebody does, what verify then says, and how it is done. */
const MOVES: readonly (readonly [
  name: string,
  found: readonly string[],
  ...statements: readonly string[],
])[] = [
  ["a deleted port is missing", [`${PORT} missing`], `DELETE FROM ports WHERE uuid='${PORT}'`],
  [
    "a port with another uuid is missing, and extra",
    [`${PORT} missing`, `${STRANGER} extra`],
    `UPDATE ports SET uuid='${STRANGER}' WHERE uuid='${PORT}'`,
  ],
  [
    "a port on another node is missing here and extra there",
    [`${PORT} missing`, `${PORT} extra`],
    `UPDATE ports SET node_id=${idOf(NODES[1])} WHERE uuid='${PORT}'`,
  ],
  [
    "a port on no node is missing",
    [`${PORT} missing`],
    `UPDATE ports SET node_id=NULL WHERE uuid='${PORT}'`,
  ],
  [
    "a deleted node is missing, and its ports are",
    [`${NODE} missing`, `${PORT} missing`],
    `DELETE FROM ports WHERE uuid='${PORT}'`,
    `DELETE FROM nodes WHERE uuid='${NODE}'`,
  ],
  [
    "a node with another uuid is missing, its ports are, and it is extra",
    [`${NODE} missing`, `${PORT} missing`, `${STRANGER} extra`],
    `UPDATE nodes SET uuid='${STRANGER}' WHERE uuid='${NODE}'`,
  ],
  [
    "a port somebody added is extra",
    [`${STRANGER} extra`],
    `INSERT INTO ports (uuid, address, node_id) VALUES ('${STRANGER}', '52:54:00:aa:aa:aa', ${idOf(NODE)})`,
  ],
  [
    "a node that carries our mark and is not in the plan is extra",
    [`${STRANGER} extra`],
    `INSERT INTO nodes (uuid, extra) VALUES ('${STRANGER}', '{"nova_bm": {"id": 9}}')`,
  ],
  [
    "a node of somebody else's is none of ours",
    [],
    `INSERT INTO nodes (uuid, extra) VALUES ('${STRANGER}', '{"note": "nova_bm"}')`,
  ],
];

for (const [name, found, ...statements] of MOVES)
  test(`to verify, ${name}`, async () => {
    await loaded(rich("juno"), async (at) => {
      for (const sql of statements) await disturb(at.ironic, sql);
      assert.deepEqual(
        (await told(at)).map(({ uuid, state }) => `${uuid} ${state}`),
        found,
      );
    });
  });

for (const release of ["juno", "kilo"] as const)
  test(`the deploy key ${release}'s takeover makes is Ironic's own, and keeps no machine from being rolled back`, async () => {
    await loaded(rich(release), async (at) => {
      const key = "json_set(instance_info, '$.deploy_key', 'A1B2')";
      await disturb(at.ironic, `UPDATE nodes SET instance_info=${key} WHERE uuid='${NODE}'`);
      const { tally } = await verified(at);
      assert.deepEqual([tally.validated, tally.mismatched, tally.ironics_own], [4, 0, 1]);
      assert.deepEqual((await rolledBack(at)).skipped, []);
    });
  });

test("rollback leaves a machine in whose empty columns somebody wrote", async () => {
  await loaded(rich("2023.1"), async (at) => {
    await disturb(at.ironic, `UPDATE nodes SET description='rack 7' WHERE uuid='${NODE}'`);
    const { skipped: left, done } = await rolledBack(at);
    assert.deepEqual(Array.from(left, ({ id }) => id).sort(), [`node:${NODE}`, `port:${PORT}`]);
    assert.equal(done, 2);
  });
});
