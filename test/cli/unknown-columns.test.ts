import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Case, caseUuid } from "../../src/demo/case.ts";
import { writeCase } from "../../src/demo/write-case.ts";
import { isObject, type JsonObject } from "../../src/lib/json.ts";
import { runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";

const FORKED: Case = {
  shows: "columns of a fork",
  nova_bm: {
    nodes: [{ id: 1, rack: "r7", api_token: "hunter2" }, { id: 2 }, { id: 3, rack: "r\u00008" }],
    interfaces: [
      { id: 1, bm_node_id: 1, speed: 10 },
      { id: 2, bm_node_id: 1, address: "52:54:00:00:00:99", speed: 40 },
      { id: 3, bm_node_id: 2 },
      { id: 4, bm_node_id: 3 },
    ],
    columns: {
      bm_nodes: { rack: "VARCHAR(20)", api_token: "VARCHAR(20)", colour: "VARCHAR(20)" },
      bm_interfaces: { speed: "INTEGER" },
    },
  },
};

function extraOf(line: JsonObject | undefined, table: "node" | "interfaces"): unknown {
  const rows = [line?.[table]].flat();
  return rows.map((row) => (isObject(row) ? (row.extra ?? null) : "no row"));
}

test("values of unknown columns stand in extra, secrets sealed, and extract counts their machines", async (t) => {
  const folder = privateFolder(t);
  const { extract } = await writeCase(FORKED, join(folder, "case"));
  const run = join(folder, "run");
  const { out } = await runs(0, ["extract", "--run", run, ...extract]);
  const say = (table: string, each: string): string =>
    `Columns of ${table} that no version of nova_bm has, with the number of machines that have a value there: ${each}.\n`;
  assert.ok(out.includes(say("bm_nodes", "api_token 1, colour 0, rack 2")), out);
  assert.ok(out.includes(say("bm_interfaces", "speed 1")), out);
  assert.match(out, /N2I-D009 blocks +1 /, "a NUL there is found as anywhere");

  const text = readFileSync(join(run, "snapshot.jsonl"), "utf8");
  assert.ok(!text.includes("hunter2"));
  // The lines between header and footer, which the tool itself has just written.
  const [one, two, three] = text
    .split("\n")
    .slice(1, 4)
    .map((line) => JSON.parse(line) as JsonObject);
  const [extra] = [extraOf(one, "node")].flat();
  assert.ok(isObject(extra) && isObject(extra.api_token) && extra.rack === "r7");
  assert.equal(extra.api_token.of, caseUuid("node", 1));
  assert.deepEqual(extraOf(one, "interfaces"), [{ speed: 10 }, { speed: 40 }]);
  assert.deepEqual([extraOf(two, "node"), extraOf(two, "interfaces")], [[null], [null]]);
  assert.deepEqual(extraOf(three, "node"), [{ rack: "r\u00008" }]);
});
