import assert from "node:assert/strict";
import { test } from "node:test";
import { fleet, fleetUuid } from "../support/fleet.ts";
import { quickSessions } from "../support/quick-sessions.ts";
import { runs } from "./cli.ts";
import { deployFiles, load } from "./deployment.ts";
import { digests } from "./digest.ts";
import { ESCAPE, unharmed } from "./escapes.ts";
import { plannedWhole } from "./whole.ts";

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
  quickSessions(t);
  const made = await plannedWhole("sqlite", t);
  const { at, writer, reader, check, ironic } = made;
  const apply = ["apply", ...at, ...writer, "--leave-nova", "--staged", "--yes", "-q"];
  const release = ["handover", ...at, ...writer, "--deadline", "1", "--max-failures", "9", "--yes"];
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
      ["finish", ...at, ...writer, "--yes"],
    ]) {
      const { out } = await unharmed(words, [0, 1, 2, 3]);
      assert.ok(out.length < 200_000, words.join(" "));
    }
    for (const [table, rows] of [
      ["nodes", nodes],
      ["conductors", conductors],
    ] as const)
      for (const row of rows) await ironic.db(table).where({ id: row.id }).update(row);
    await runs(0, ["rollback", ...at, ...writer, "--all", "--yes", "-q"]);
  }
});

/** What others may have made of two tenants' nodes, and how many of the two finish still clears. */
const GUARDS: readonly (readonly [object, object, number])[] = [
  [{ protected_reason: `mine\n${ESCAPE}` }, { maintenance: true, maintenance_reason: ESCAPE }, 2],
  [{ reservation: `lab\n${ESCAPE}` }, { instance_uuid: null, provision_state: null }, 1],
  [
    { protected: "yes", extra: "[1" },
    { automated_clean: 7, protected_reason: "r".repeat(1_000_000) },
    0,
  ],
];

test("whatever somebody made of the rows, finish and its undo end in words, and change no other field", async (t) => {
  const made = await deployFiles(t, fleet(6, "2023.1"));
  const { at, writer, ironic } = made;
  await load(made);
  const before = await ironic.db("nodes").orderBy("id");
  const loaded = await digests(made);
  const fields = ["protected", "protected_reason", "automated_clean", "updated_at"];
  const others = async () =>
    (await ironic.db("nodes").orderBy("id")).map((row) =>
      Object.entries(row).filter(([name]) => !fields.includes(name)),
    );
  for (const [first, second, cleared] of GUARDS) {
    for (const [id, change] of [[3, first] as const, [6, second] as const]) {
      const uuid = fleetUuid(id);
      await ironic.db("nodes").where({ uuid }).update(change);
    }
    const changed = await others();
    const finish = ["finish", ...at, ...writer, "--yes", "--lock-wait", "0"];
    for (const words of [finish, [...finish, "--undo"]]) {
      const { out } = await unharmed(words, [0, 3]);
      assert.ok(out.length < 200_000, words.join(" "));
      assert.deepEqual(await others(), changed, words.join(" "));
      const did = words === finish ? `Finish: ${cleared} machine` : "Finish undone: ";
      assert.ok(out.includes(did), out);
    }
    for (const row of before) await ironic.db("nodes").where({ id: row.id }).update(row);
  }
  assert.deepEqual(await digests(made), loaded);
});
