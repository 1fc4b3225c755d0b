import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { objectOf } from "../../src/lib/json.ts";
import { MARK } from "../../src/manage/rules/criteria.ts";
import { MANAGE } from "../../src/model/ironic/manage.ts";
import { JOURNAL_FORMAT } from "../../src/model/journal.ts";
import { openJournal } from "../../src/run/files/journal.ts";
import { openRun } from "../../src/run/files/run-folder.ts";
import { markKind } from "../../src/run/files/run-kind.ts";
import { assertRefusal, run, runs, start } from "../hostile/cli.ts";
import { isWrite } from "../support/faulty-service.ts";
import { addCard, dumped, type InMemory, refuses, uuidOf } from "./in-memory.ts";
import { DENIED, DOWN, scene, writes } from "./scene.ts";

interface Row {
  readonly Name: string;
  readonly Result: string;
  readonly Why: string;
}

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
      assert.match(rows[1]?.Why ?? "", /N2I-E210 .*did not report the outcome of/);
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
  assert.match(row?.Why ?? "", /already exists.*; rolled back/, ran.err);
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
  assert.match(left.out + left.err, /2 machines rolled back, 1 left/);
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
    for (const { Why } of left) assert.match(Why, /is attached to more than one port/);
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
    ["already has instance i", { instance_uuid: "i" }],
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
  await runs(0, ["node", "manage", "n-1", "web-1", ...at, ...cloud.words], cloud.how);
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
  assertRefusal(served, 64, "N2I-E100", /this run creates Nova servers/);
});

/** More than are asked for one by one. */
const MANY = 40;

/** A list of so many machines without ports of tenants, of whose nodes some have names in the list. */
function listOf(cloud: InMemory, folder: string): string {
  for (const kept of [cloud.ports, cloud.network]) kept.clear();
  const path = join(folder, "machines.csv");
  const ident = (at: number): string => (at % 2 === 0 ? `n-${at}` : uuidOf(1, at).toUpperCase());
  const lines = Array.from({ length: MANY }, (_, at) => `${ident(at + 1)},web-${at + 1}`);
  writeFileSync(path, ["node,name", ...lines, ""].join("\n"));
  return path;
}

const BEFORE = { maintenance: false, maintenance_reason: null, extra: {} } as const;
const FAN = { maintenance: true, maintenance_reason: "a fan" } as const;

/** Of each node what was said of it, in order. */
function eventsOf(err: string): Map<string, readonly string[]> {
  const events = new Map<string, readonly string[]>();
  for (const line of err.split("\n").filter((one) => one.startsWith("{"))) {
    const { event, node } = JSON.parse(line) as { readonly event?: string; readonly node?: string };
    if (event === undefined || node === undefined) continue;
    events.set(node, [...(events.get(node) ?? []), event]);
  }
  return events;
}

test("machines without ports of tenants cost a POST each, and nodes are read in listings", async (t) => {
  const { cloud, folder, at } = await scene(t, MANY);
  const words = ["node", "manage", "--from", listOf(cloud, folder), ...at, ...cloud.words];
  // Those that its record writes over are given back.
  const kept = cloud.nodes.get(uuidOf(1, 3)) ?? {};
  kept.instance_info = { traits: ["CUSTOM_OLD"] };
  await runs(0, words, cloud.how);
  assert.equal(cloud.allocations.size, MANY);
  assert.deepEqual(kept.instance_info, { traits: ["CUSTOM_OLD"] });
  const others = writes(cloud).filter((call) => call !== "POST /v1/allocations");
  assert.deepEqual(others, [`PATCH /v1/nodes/${uuidOf(1, 3)}`], "its traits");
  const reads = cloud.calls.filter((call) => call.startsWith("GET"));
  assert.ok(reads.length < MANY / 2, reads.join("\n"));
  // A node in every detail is dear once it has an allocation: what it is compared by is enough then.
  const first = cloud.calls.findIndex((call) => call.startsWith("POST"));
  const whole = cloud.calls.flatMap((call, at) =>
    call.includes("detail=true") ? [at < first] : [],
  );
  assert.deepEqual(whole, [true], "once, before the first record");
  // And back, whatever they were.
  await runs(0, ["rollback", ...at, "--all", "--yes"], cloud.how);
  assert.equal(cloud.allocations.size, 0);
  const infos = [...cloud.nodes.values()].map(({ instance_info }) => JSON.stringify(instance_info));
  assert.deepEqual(
    infos.filter((info) => info !== "{}"),
    ['{"traits":["CUSTOM_OLD"]}'],
  );
});

test("a node that is somebody's by the time its record is made loses the record, and is told", async (t) => {
  for (const single of [true, false])
    for (const [field, change] of [
      ["resource_class", { resource_class: "silver" }],
      ["extra", { extra: { rack: "9" } }],
      ["instance_info", { instance_info: { image_source: "another", traits: [] } }],
      ["instance_uuid is i, expected", { instance_uuid: "i" }],
      ["it is in maintenance: a fan", FAN],
      [
        `it is being managed: extra.${MARK} is ${uuidOf(8, 1)}`,
        { extra: { [MARK]: uuidOf(8, 1) } },
      ],
    ] as const) {
      const { cloud, folder, at } = await scene(t, MANY);
      const list = listOf(cloud, folder);
      const which = single ? ["n-2", "web-2"] : ["--from", list, "--in-flight", "1"];
      const node = cloud.nodes.get(uuidOf(1, 2)) ?? {};
      let asked = 0;
      // After Ironic took it, before it is looked at again.
      cloud.use((call) => {
        if (call === "POST /v1/allocations") asked += 1;
        else if (node.allocation_uuid !== null) Object.assign(node, asked > 0 ? change : {});
      });
      const words = ["node", "manage", ...which, "-f", "json", "--json", ...at, ...cloud.words];
      const ran = await run(words, cloud.how);
      const events = eventsOf(ran.err);
      assert.deepEqual(events.get(uuidOf(1, 2)), ["manage.start", "manage.error"]);
      events.delete(uuidOf(1, 2));
      for (const own of events.values()) assert.deepEqual(own, ["manage.start", "manage.end"]);
      assert.equal(events.size, single ? 0 : MANY - 1);
      const told = `${ran.out}${ran.err}`;
      assert.match(ran.out, new RegExp(field));
      assert.equal(cloud.allocations.size, single ? 0 : MANY - 1, told);
      // It stays as he has it.
      const { allocation_uuid, ...kept } = node;
      assert.equal(allocation_uuid, null);
      const { maintenance, maintenance_reason, extra } = { ...BEFORE, ...change };
      assert.deepEqual(
        [kept.maintenance, kept.maintenance_reason, kept.extra],
        [maintenance, maintenance_reason, extra],
      );
    }
});

test("one that was marked, and is put in maintenance once it has its record, keeps both", async (t) => {
  const { cloud, folder, at } = await scene(t, MANY);
  const list = ["--from", listOf(cloud, folder), "--in-flight", "1"];
  const words = ["node", "manage", ...list, ...at, ...cloud.words];
  const node = cloud.nodes.get(uuidOf(1, 2)) ?? {};
  let asked = 0;
  cloud.use((call) => {
    if (call === "POST /v1/allocations") asked += 1;
    return asked === 2 ? DOWN : null;
  });
  assert.notEqual((await run(words, cloud.how)).status, 0, "it was begun, and nobody knows");
  let marked = false;
  cloud.use(() => {
    const now = objectOf(node.extra)[MARK] !== undefined;
    if (marked && !now) Object.assign(node, FAN);
    marked ||= now;
  });
  await runs(0, words, cloud.how);
  assert.ok(marked);
  assert.equal(cloud.allocations.size, MANY);
  assert.deepEqual([node.maintenance, node.maintenance_reason], [true, "a fan"]);
});
