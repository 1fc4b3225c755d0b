import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { placed } from "../../../src/cli/print/error.ts";
import { packageRoot } from "../../../src/run/files/package-root.ts";

test("a trace names no folder of the installation", () => {
  const root = packageRoot();
  for (const folder of [root, pathToFileURL(root).href])
    for (const [line, shown] of [
      [
        `    at apply (${folder}/dist/src/engine/apply.js:1:2)`,
        "    at apply (src/engine/apply.js:1:2)",
      ],
      [`    at async ${folder}/dist/src/cli/main.js:3:4`, "    at async src/cli/main.js:3:4"],
      [
        `    at Client.query (${folder}/node_modules/knex/lib/client.js:5:6)`,
        "    at Client.query (node_modules/knex/lib/client.js:5:6)",
      ],
    ] as const)
      assert.equal(placed(line), shown);
  for (const line of [
    "    at node:internal/process/task_queues:95:5",
    "    at elsewhere (/opt/another/dist/src/cli/main.js:3:1)",
  ])
    assert.equal(placed(line), line);
});
