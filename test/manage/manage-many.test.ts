import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { objectOf } from "../../src/lib/json.ts";
import { MARK } from "../../src/manage/rules/criteria.ts";
import { MANAGE } from "../../src/model/ironic/manage.ts";
import { JOURNAL_FORMAT } from "../../src/model/journal.ts";
import { openJournal } from "../../src/run/files/journal.ts";
import { openRun } from "../../src/run/files/run-folder.ts";
import { markKind } from "../../src/run/files/run-kind.ts";
import { assertRefusal, run, runs, start } from "../hostile/cli.ts";
import { isWrite } from "../support/faulty-service.ts";
import { addCard, dumped, refuses, uuidOf } from "./in-memory.ts";
import { assertSkipped, DENIED, DOWN, eventsIn, scene, writes } from "./scene.ts";

const rowsIn = (out: string) =>
  JSON.parse(out) as readonly { readonly [column in "Name" | "Result" | "Why"]: string }[];

const ONE = ["--in-flight", "1"];

/** To manage the machines of a file, by their names unless others are given. */
function listed(folder: string, machines: number, nodeOf = (at: number) => `n-${at}`) {
  const path = join(folder, "machines.csv");
  const lines = Array.from({ length: machines }, (_, at) => `${nodeOf(at + 1)},web-${at + 1}`);
  writeFileSync(path, ["node,name", ...lines, ""].join("\n"));
  return ["node", "manage", "--from", path, "-f", "json"];
}

for (const how of ["stopped", "broke off"])
  test(`machines that nobody came to have their row: the command ${how}`, async (t) => {
    const { cloud, folder, words } = await scene(t, 3);
    const line = [...listed(folder, 3), ...ONE, ...words];
    const started = how === "stopped" ? start(line, cloud.how) : null;
    // Twice would end it at once.
    if (started !== null) cloud.once(isWrite, () => started.signal("SIGTERM"));
    else cloud.fail((call) => isWrite(call) && call.endsWith(uuidOf(1, 2)), DOWN);
    const ran = await (started?.ended ?? run(line, cloud.how));
    const [first, second, third, ...more] = rowsIn(ran.out);
    const names = [first?.Name, second?.Name, third?.Name, ...more];
    assert.deepEqual(names, ["web-1", "web-2", "web-3"], ran.err);
    assert.equal(first?.Result, "managed");
    if (started === null) {
      assert.equal(second?.Result, "left");
      assert.match(second.Why, /N2I-E210 .*did not report the outcome of/);
    }
    assert.equal(third?.Result, "not reached");
    assert.match(third.Why, /before/);
  });

test("a machine that is refused once somebody asked to stop is taken back all the same", async (t) => {
  const { cloud, words, before } = await scene(t, 1);
  const started = start(["node", "manage", "n-1", "web-1", "-f", "json", ...words], cloud.how);
  cloud.use((call) => {
    if (!call.startsWith("POST /v1/allocations")) return null;
    started.signal("SIGTERM");
    const says = refuses(409, "An allocation with name web-1 already exists");
    return { done: false, before: started.said("Stopping after this batch"), says };
  });
  const ran = await started.ended;
  assert.match(rowsIn(ran.out)[0]?.Why ?? "", /already exists.*; rolled back/, ran.err);
  assert.equal(dumped(cloud), before);
});

test("a port that this login may not change leaves its machine, and no other, on both ways", async (t) => {
  const { cloud, folder, tries, does, undone } = await scene(t, 3);
  const first = `PUT /v2.0/ports/${uuidOf(3, 1)}`;
  const why = /PUT of port 3\S+1 is refused: 403 not today/;
  cloud.fail(first, DENIED);
  const ran = await does(3, ...listed(folder, 3), ...ONE);
  const [denied, ...others] = rowsIn(ran.out).map(({ Result, Why }) => `${Result} ${Why}`);
  assert.match(denied ?? "", new RegExp(`^left .*${why.source}`), ran.err);
  assert.deepEqual(others, ["managed ", "managed "]);
  cloud.use(() => null);
  await does(0, ...listed(folder, 3), ...ONE);
  cloud.fail(first, DENIED);
  const left = await tries("rollback", "--all", "--yes", ...ONE);
  assert.deepEqual([left.status, cloud.allocations.size], [2, 0], left.err);
  assert.match(left.out + left.err, why);
  assert.match(left.out + left.err, /2 machines rolled back, 1 left/);
  cloud.use(() => null);
  await undone();
});

test("a login that may change no port at all ends the command soon, and says so", async (t) => {
  const { cloud, folder, tries, before } = await scene(t, 12);
  cloud.fail(/^PUT \/v2\.0\//, DENIED);
  const ran = await tries(...listed(folder, 12), ...ONE);
  assert.match(ran.err, /ERROR N2I-E211 .* refuses PUT of port 3\S+: 403 not today/);
  const expected = Array.from({ length: 12 }, (_, one) => (one < 10 ? "left" : "not reached"));
  assert.deepEqual(
    rowsIn(ran.out).map(({ Result }) => Result),
    expected,
  );
  assert.equal(dumped(cloud), before);
});

test("two nodes that name one port of Neutron are both refused before anything is written", async (t) => {
  const { cloud, folder, tries } = await scene(t, 3);
  // Not even the one whose MAC it has.
  addCard(cloud, uuidOf(1, 2), 22, { extra: { vif_port_id: uuidOf(3, 1) } });
  const before = dumped(cloud);
  for (const more of [["--dry-run"], []]) {
    const { out } = await tries(...listed(folder, 3), ...more);
    const left = rowsIn(out).filter(({ Result }) => Result === "left");
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
    const { cloud, node, tries } = await scene(t);
    let changed = "";
    cloud.once(/^PATCH/, () => {
      Object.assign(node(), change);
      changed = dumped(cloud);
    });
    assertSkipped(await tries("node", "manage", "n-1", "web-1"), new RegExp(field));
    assert.equal(dumped(cloud), changed);
  }
  // What conductors write meanwhile is no reason.
  const { cloud, node, manages } = await scene(t);
  const own = { power_state: "power off", last_error: "a BMC was slow", properties: { cpus: 5 } };
  cloud.once(/^PATCH/, () => Object.assign(node(), own));
  await manages();
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

/** So many machines without ports of tenants, and a list of them in which some nodes are named. */
async function many(t: TestContext) {
  const at = await scene(t, MANY);
  for (const kept of [at.cloud.ports, at.cloud.network]) kept.clear();
  const ident = (nth: number) => (nth % 2 === 0 ? `n-${nth}` : uuidOf(1, nth).toUpperCase());
  return { ...at, list: listed(at.folder, MANY, ident) };
}

const BEFORE = { maintenance: false, maintenance_reason: null, extra: {} } as const;
const FAN = { maintenance: true, maintenance_reason: "a fan" } as const;

test("machines without ports of tenants cost a POST each, and nodes are read in listings", async (t) => {
  const { cloud, at, node, does, list } = await many(t);
  // Those that its record writes over are given back.
  const kept = node(3);
  kept.instance_info = { traits: ["CUSTOM_OLD"] };
  await does(0, ...list);
  assert.equal(cloud.allocations.size, MANY);
  assert.deepEqual(kept.instance_info, { traits: ["CUSTOM_OLD"] });
  const others = writes(cloud).filter((call) => call !== "POST /v1/allocations");
  assert.deepEqual(others, [`PATCH /v1/nodes/${uuidOf(1, 3)}`], "its traits");
  const reads = cloud.calls.filter((call) => call.startsWith("GET"));
  assert.ok(reads.length < MANY / 2, reads.join("\n"));
  // A node in every detail is dear once it has an allocation: what it is compared by is enough then.
  const first = cloud.calls.findIndex((call) => call.startsWith("POST"));
  const whole = cloud.calls.flatMap((call, nth) => (/detail=true/.test(call) ? [nth < first] : []));
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
      const { cloud, node: nodeAt, tries, list } = await many(t);
      const node = nodeAt(2);
      let asked = 0;
      // After Ironic took it, before it is looked at again.
      cloud.use((call) => {
        if (call === "POST /v1/allocations") asked += 1;
        else if (node.allocation_uuid !== null) Object.assign(node, asked > 0 ? change : {});
      });
      const one = ["node", "manage", "n-2", "web-2", "-f", "json"];
      const ran = await tries(...(single ? one : [...list, ...ONE]), "--json");
      const events = eventsIn(ran.err);
      const nodes = new Set(events.map((event) => event.node));
      assert.equal(nodes.size, single ? 1 : MANY);
      for (const id of nodes) {
        const own = events.flatMap((event) => (event.node === id ? [event.event] : []));
        const ended = id === uuidOf(1, 2) ? "manage.error" : "manage.end";
        assert.deepEqual(own, ["manage.start", ended], id);
      }
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
  const { cloud, tries, does, list, ...at } = await many(t);
  const node = at.node(2);
  let asked = 0;
  cloud.use((call) => {
    if (call === "POST /v1/allocations") asked += 1;
    return asked === 2 ? DOWN : null;
  });
  const died = await tries(...list, ...ONE);
  assert.notEqual(died.status, 0, "it was begun, and nobody knows");
  let marked = false;
  cloud.use(() => {
    const now = objectOf(node.extra)[MARK] !== undefined;
    if (marked && !now) Object.assign(node, FAN);
    marked ||= now;
  });
  await does(0, ...list, ...ONE);
  assert.ok(marked);
  assert.equal(cloud.allocations.size, MANY);
  assert.deepEqual([node.maintenance, node.maintenance_reason], [true, "a fan"]);
});
