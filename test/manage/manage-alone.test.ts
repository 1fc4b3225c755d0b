import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { objectOf } from "../../src/lib/json.ts";
import { MARK } from "../../src/manage/rules/criteria.ts";
import { run, runs } from "../hostile/cli.ts";
import { type InMemory, uuidOf } from "./in-memory.ts";
import { DOWN, scene, writes } from "./scene.ts";

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
