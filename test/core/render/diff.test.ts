import assert from "node:assert/strict";
import { test } from "node:test";
import { renderMachine } from "../../../src/core/render/diff.ts";

const UUID = "a0000000-0000-4000-8000-000000000001";

test("with --all every planned value has an origin, and a NULL nobody gave says so", () => {
  const text = renderMachine(
    {
      bm_node_id: 1,
      uuid: UUID,
      service_host: "compute-1",
      state: { row: "free", outcome: "free" },
      verdict: "create",
      reason: null,
      findings: [],
      records: [
        {
          resource: "node",
          id: `node:${UUID}`,
          row: { uuid: UUID, name: null, extra: { nova_bm: { id: 1 } } },
          origins: [0, 1],
          change: "create",
        },
      ],
    },
    [
      ["uuid", "bm_nodes.uuid"],
      ["extra.nova_bm.id", "bm_nodes.id"],
    ],
    true,
  );
  const planned = text.split("\n").filter((line) => line.startsWith("+"));
  assert.deepEqual(
    planned.map((line) => line.slice(line.indexOf("<-"))),
    ["<- bm_nodes.uuid", "<- nothing gives it", "<- bm_nodes.id"],
  );
});
