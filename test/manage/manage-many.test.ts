import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { MANAGE } from "../../src/model/ironic/manage.ts";
import { JOURNAL_FORMAT } from "../../src/model/journal.ts";
import { openJournal } from "../../src/run/files/journal.ts";
import { openRun } from "../../src/run/files/run-folder.ts";
import { markKind } from "../../src/run/files/run-kind.ts";
import { assertRefusal, run, start } from "../hostile/cli.ts";
import { isWrite } from "../support/faulty-service.ts";
import { addCard, dumped, refuses, uuidOf } from "./in-memory.ts";
import { DENIED, DOWN, scene, writes } from "./scene.ts";

interface Row {
  readonly Name: string;
  readonly Result: string;
  readonly Why: string;
}

/** A file of so many machines. */
function file(folder: string, machines: number): string {
  const path = join(folder, "machines.csv");
  const lines = Array.from({ length: machines }, (_, at) => `n-${at + 1},web-${at + 1}`);
  writeFileSync(path, ["node,name", ...lines, ""].join("\n"));
  return path;
}

test("machines that nobody came to have their row: the command was stopped, or broke off", async (t) => {
  for (const how of ["stopped", "broke off"] as const) {
    const { cloud, folder, at } = await scene(t, 3);
    const one = ["--in-flight", "1", "-f", "json"];
    const words = ["node", "manage", "--from", file(folder, 3), ...one, ...at, ...cloud.words];
    const started = how === "stopped" ? start(words, cloud.how) : null;
    // Twice would end it at once.
    if (started !== null) cloud.once(isWrite, () => started.signal("SIGTERM"));
    else cloud.fail((call) => isWrite(call) && call.endsWith(uuidOf(1, 2)), DOWN);
    const ran = await (started?.ended ?? run(words, cloud.how));
    const rows = JSON.parse(ran.out) as readonly Row[];
    assert.deepEqual(
      rows.map(({ Name }) => Name),
      ["web-1", "web-2", "web-3"],
      ran.err,
    );
    assert.equal(rows[0]?.Result, "managed");
    if (how === "broke off") {
      assert.deepEqual([rows[1]?.Result], ["left"]);
      assert.match(rows[1]?.Why ?? "", /N2I-E210 .*does not say what became of/);
    }
    assert.deepEqual([rows[2]?.Result, rows[2]?.Why.includes("before")], ["not reached", true]);
  }
});

test("a machine that is refused once somebody asked to stop is taken back all the same", async (t) => {
  const { cloud, at, before } = await scene(t, 1);
  const words = ["node", "manage", "n-1", "web-1", ...at, ...cloud.words, "-f", "json"];
  const started = start(words, cloud.how);
  cloud.use((call) => {
    if (!call.startsWith("POST /v1/allocations")) return null;
    started.signal("SIGTERM");
    const says = refuses(409, "An allocation with name web-1 already exists");
    return { done: false, before: started.said("Stopping after this batch"), says };
  });
  const ran = await started.ended;
  const [row] = JSON.parse(ran.out) as readonly Row[];
  assert.match(row?.Why ?? "", /already exists.*; taken back, nothing stays/, ran.err);
  assert.equal(dumped(cloud), before);
});

const resultsOf = (out: string): readonly (readonly [string, string])[] =>
  (JSON.parse(out) as readonly Row[]).map(({ Result, Why }) => [Result, Why]);

test("a port that this login may not change leaves its machine, and no other, on both ways", async (t) => {
  const { cloud, folder, at, before } = await scene(t, 3);
  const words = [...at, ...cloud.words, "--in-flight", "1"];
  const first = `PUT /v2.0/ports/${uuidOf(3, 1)}`;
  const why = /PUT of port 3\S+1 is refused: 403 not today/;
  cloud.fail(first, DENIED);
  const manage = ["node", "manage", "--from", file(folder, 3), ...words, "-f", "json"];
  const ran = await run(manage, cloud.how);
  const [denied, ...others] = resultsOf(ran.out);
  assert.deepEqual([ran.status, denied?.[0]], [3, "left"], ran.err);
  assert.match(denied?.[1] ?? "", why);
  assert.deepEqual(others, [
    ["managed", ""],
    ["managed", ""],
  ]);
  cloud.use(() => null);
  assert.equal((await run(manage, cloud.how)).status, 0);
  cloud.fail(first, DENIED);
  const back = ["rollback", "--all", "--yes", ...words];
  const left = await run(back, cloud.how);
  assert.deepEqual([left.status, cloud.allocations.size], [2, 0], left.err);
  assert.match(left.out + left.err, why);
  assert.match(
    left.out + left.err,
    /2 machines have no server record of this run any more, 1 left/,
  );
  cloud.use(() => null);
  assert.equal((await run(back, cloud.how)).status, 0);
  assert.equal(dumped(cloud), before);
});

test("a login that may change no port at all ends the command soon, and says so", async (t) => {
  const { cloud, folder, at, before } = await scene(t, 12);
  cloud.fail(/^PUT \/v2\.0\//, DENIED);
  const words = [...at, ...cloud.words, "--in-flight", "1", "-f", "json"];
  const ran = await run(["node", "manage", "--from", file(folder, 12), ...words], cloud.how);
  assert.match(ran.err, /ERROR N2I-E211 .* refuses PUT of port 3\S+: 403 not today/);
  const results = resultsOf(ran.out).map(([result]) => result);
  const expected = Array.from({ length: 12 }, (_, one) => (one < 10 ? "left" : "not reached"));
  assert.deepEqual(results, expected);
  assert.equal(dumped(cloud), before);
});

test("two nodes that name one port of Neutron are both refused before anything is written", async (t) => {
  const { cloud, folder, at } = await scene(t, 3);
  // Not even the one whose MAC it has.
  addCard(cloud, uuidOf(1, 2), 22, { extra: { vif_port_id: uuidOf(3, 1) } });
  const words = ["node", "manage", "--from", file(folder, 3), "-f", "json", ...at, ...cloud.words];
  const before = dumped(cloud);
  const dry = await run([...words, "--dry-run"], cloud.how);
  const ran = await run(words, cloud.how);
  for (const { out } of [dry, ran]) {
    const rows = JSON.parse(out) as readonly Row[];
    const left = rows.filter(({ Result }) => Result === "left");
    assert.deepEqual(
      left.map(({ Name }) => Name),
      ["web-1", "web-2"],
      out,
    );
    for (const { Why } of left) assert.match(Why, /is named by more than one port/);
  }
  assert.equal(cloud.allocations.size, 1);
  assert.ok(writes(cloud).every((call) => !call.includes(uuidOf(3, 1))));
  assert.notEqual(dumped(cloud), before, "the third has its record");
});

test("a node that somebody changes after it was looked at is refused, and stays as he left it", async (t) => {
  for (const [field, change] of [
    ["instance_info", { instance_info: { image_source: "another" } }],
    ["resource_class", { resource_class: "silver" }],
    ["extra", { extra: { rack: "9" } }],
    ["instance i already", { instance_uuid: "i" }],
  ] as const) {
    const { cloud, at } = await scene(t);
    const node = cloud.nodes.get(uuidOf(1, 1)) ?? {};
    let changed = "";
    cloud.once(/^PATCH/, () => {
      Object.assign(node, change);
      changed = dumped(cloud);
    });
    const ran = await run(["node", "manage", "n-1", "web-1", ...at, ...cloud.words], cloud.how);
    assertRefusal({ ...ran, out: "" }, 4, "N2I-E370", new RegExp(field));
    assert.equal(dumped(cloud), changed);
  }
  // What conductors write meanwhile is no reason.
  const { cloud, at } = await scene(t);
  const own = { power_state: "power off", last_error: "a BMC was slow", properties: { cpus: 5 } };
  cloud.once(/^PATCH/, () => Object.assign(cloud.nodes.get(uuidOf(1, 1)) ?? {}, own));
  const ran = await run(["node", "manage", "n-1", "web-1", ...at, ...cloud.words], cloud.how);
  assert.equal(ran.status, 0, ran.err);
});

test("a run of servers of Nova is none for the service, which would take them for allocations", async (t) => {
  const { cloud, folder } = await scene(t);
  const own = await openRun(join(folder, "other"), { create: true });
  await markKind(own, { kind: "manage" }, "node manage");
  const target = { adapter: "nova", address: cloud.ironic };
  const journal = await openJournal(own);
  await journal.append({ do: "open", format: JOURNAL_FORMAT, tool: "a test" });
  await journal.append({ do: "target", system: MANAGE, target, at: "2026-01-01T00:00:00Z" });
  await journal.close();
  const words = ["serve", "manageable", "--run", own.path, "--auth", "none", "--listen"];
  const served = await run([...words, "127.0.0.1:0", ...cloud.words], cloud.how);
  assertRefusal(served, 64, "N2I-E100", /this run makes servers of Nova/);
});
