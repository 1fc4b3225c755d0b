import assert from "node:assert/strict";
import { test } from "node:test";
import { run, runs } from "./cli.ts";
import { plannedWhole } from "./whole.ts";

const ESCAPE = "\u001b]0;owned\u0007\u001b[2J";
const FIRST = "a0000000-0000-4000-8000-000000000001";
const SECOND = "a0000000-0000-4000-8000-000000000002";

/** What conductors and others may have made of rows that were staged: table, row, change. */
const HANDS: readonly (readonly (readonly [string, object, object])[])[] = [
  [
    ["conductors", { id: 1 }, { hostname: `lab\n${ESCAPE}`, drivers: `["${ESCAPE}"]` }],
    ["nodes", { uuid: FIRST }, { last_error: `no\n${ESCAPE}`, reservation: `lab${ESCAPE}` }],
    ["nodes", { uuid: SECOND }, { maintenance_reason: `fans\n${ESCAPE}`, name: ESCAPE }],
  ],
  [
    ["conductors", { id: 1 }, { drivers: "not JSON", updated_at: "never" }],
    ["nodes", { uuid: FIRST }, { driver_info: "not JSON" }],
    ["nodes", { uuid: SECOND }, { uuid: SECOND.toUpperCase(), extra: "[1" }],
  ],
  [
    ["conductors", { id: 1 }, { drivers: null, updated_at: null, online: null }],
    ["nodes", { uuid: FIRST }, { maintenance: null, extra: null, driver_info: null }],
    ["nodes", { uuid: SECOND }, { provision_state: null, driver: null, properties: null }],
  ],
  [
    ["conductors", { id: 1 }, { drivers: `["${"d".repeat(1_000_000)}"]` }],
    ["nodes", { uuid: FIRST }, { last_error: "e".repeat(1_000_000) }],
    ["nodes", { uuid: SECOND }, { extra: `{"x": "${"y".repeat(3_000_000)}"}` }],
  ],
];

test("whatever Ironic's rows became, check, release and --takeover end in words, and touch only what is staged", async (t) => {
  const made = await plannedWhole("sqlite", t);
  if (made === null) return;
  const { at, writer, reader, check, ironic } = made;
  const apply = ["apply", ...at, ...writer, "--leave-nova", "--staged", "--yes", "-q"];
  const release = ["release", ...at, ...writer, "--deadline", "1", "--max-failures", "9", "--yes"];
  for (const hands of HANDS) {
    await runs(3, apply);
    const [conductors, nodes] = [await ironic.db("conductors"), await ironic.db("nodes")];
    for (const [table, where, change] of hands)
      assert.equal(await ironic.db(table).where(where).update(change), 1);
    for (const words of [
      check,
      ["verify", ...at, ...reader, "--takeover"],
      ["verify", ...at, ...reader],
      release,
      [...release, "--undo"],
    ]) {
      const { status, out, err } = await run(words);
      const told = `${words.join(" ")}\n${out}${err}`.slice(0, 5000);
      for (const sign of ["\u001b", "\u0007", "node:internal", "N2I-E900"])
        assert.ok(!(out + err).includes(sign), told);
      assert.ok([0, 1, 2, 3].includes(status), told);
      assert.ok(out.length < 200_000, told);
    }
    for (const [table, rows] of [
      ["nodes", nodes],
      ["conductors", conductors],
    ] as const)
      for (const row of rows) await ironic.db(table).where({ id: row.id }).update(row);
    await runs(0, ["rollback", ...at, ...writer, "--all", "--yes", "-q"]);
  }
});
