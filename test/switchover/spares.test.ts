import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Json } from "../../src/lib/json.ts";
import { refused, runs } from "../hostile/cli.ts";
import { privateFolder } from "../hostile/deployment.ts";
import { type InMemory, inMemory, uuidOf } from "../manage/in-memory.ts";
import { writes } from "../manage/scene.ts";
import { MACHINE, SPARE } from "./rules/whole.ts";

const list = ["node", "list", "--spares"] as const;

/** A machine that boots from a volume. */
function addBooted(cloud: InMemory, at: number, more: { readonly [field: string]: Json } = {}) {
  const uuid = uuidOf(1, at);
  cloud.nodes.set(uuid, { ...MACHINE.body, uuid, name: `n-${at}`, ...more });
  cloud.targets.set(uuidOf(5, at), {
    ...{ uuid: uuidOf(5, at), node_uuid: uuid, volume_type: "iscsi", boot_index: 0 },
    volume_id: `v-${at}`,
  });
  cloud.connectors.set(uuidOf(6, at), {
    ...{ uuid: uuidOf(6, at), node_uuid: uuid, type: "iqn", connector_id: `iqn:${at}` },
  });
  addCard(cloud, at);
}

function addSpare(cloud: InMemory, at: number, more: { readonly [field: string]: Json } = {}) {
  const uuid = uuidOf(1, at);
  cloud.nodes.set(uuid, { ...SPARE.body, uuid, name: `s-${at}`, ...more });
  addCard(cloud, at);
}

function addCard(cloud: InMemory, at: number): void {
  const [uuid, node_uuid] = [uuidOf(2, at), uuidOf(1, at)];
  const card = { pxe_enabled: true, physical_network: null, portgroup_uuid: null };
  cloud.ports.set(uuid, { uuid, node_uuid, ...card, is_smartnic: false });
}

test("spares are listed by the machines whose place they can take, the classes without any first", async (t) => {
  const cloud = await inMemory(t);
  for (const at of [1, 2]) addBooted(cloud, at);
  addBooted(cloud, 3, { resource_class: "silver" });
  addSpare(cloud, 11, { provision_state: "enroll" });
  addSpare(cloud, 12);
  addSpare(cloud, 13, { retired: true });
  const { out, err } = await runs(0, [...list, ...cloud.words, "-f", "json"]);
  const usual = { Driver: "ipmi", CPUs: 16, "Memory MB": "16384" };
  const silver = { "Resource Class": "silver", Machines: 1, Example: "n-3", Spares: 0 };
  const gold = { "Resource Class": "gold", Machines: 2, Example: "n-1", Spares: 2 };
  assert.deepEqual(JSON.parse(out), [
    { ...usual, ...silver, Candidates: "" },
    { ...usual, ...gold, Candidates: "s-12, s-11" },
  ]);
  assert.match(err, /^1 node in manageable or enroll cannot be a spare: s-13 \(it is retired\)$/m);
  const all = await runs(0, [...list, "--all", ...cloud.words, "-f", "csv"]);
  assert.match(all.out, /"silver",.*,0,"","s-12: resource_class: ""silver"" != ""gold"""/);
});

test("with --need a class that has fewer spares ends it with 2, and is told", async (t) => {
  const cloud = await inMemory(t);
  for (const at of [1, 2]) addBooted(cloud, at);
  addSpare(cloud, 11);
  const needs = (need: string, status: number) =>
    runs(status, [...list, ...cloud.words, "--need", need]);
  await needs("0", 0);
  await needs("1", 0);
  const { err, out } = await needs("2", 2);
  assert.match(err, /^n-1 and 1 like it: 1 of 2 spares$/m);
  assert.match(out, /\| gold +\|/);
  Object.assign(cloud.nodes.get(uuidOf(1, 11)) ?? {}, { driver: "redfish" });
  const other = await needs("1", 2);
  const nearest =
    /^n-1 and 1 like it: 0 of 1 spare; the closest is s-11: driver: "ipmi" != "redfish"$/m;
  assert.match(other.err, nearest);
  // A login that sees nothing must not look like a fleet that lacks nothing.
  cloud.targets.clear();
  const blind = /no active machine that boots from a volume is visible with these credentials/;
  await refused([...list, "--need", "1", ...cloud.words], 4, "N2I-E326", [blind]);
  await runs(0, [...list, ...cloud.words]);
});

test("1,110 nodes are listed by seven listings' worth of calls, and nothing is written", async (t) => {
  const cloud = await inMemory(t);
  for (let at = 1; at <= 1010; at += 1) addBooted(cloud, at, { resource_class: `c-${at % 10}` });
  for (let at = 1011; at <= 1110; at += 1) {
    const provision_state = at % 2 ? "enroll" : "manageable";
    addSpare(cloud, at, { resource_class: `c-${at % 5}`, provision_state });
  }
  const { out } = await runs(2, [...list, "--need", "1", ...cloud.words, "-f", "json"]);
  const rows = JSON.parse(out) as readonly { readonly [column: string]: unknown }[];
  const found = rows.map(({ Machines, Spares }) => [Machines, Spares]);
  assert.deepEqual(found, [...Array(5).fill([101, 0]), ...Array(5).fill([101, 20])]);
  for (const [listing, calls] of Object.entries({
    ...{ "/v1/ports?": 2, "/v1/portgroups?": 1, "/v1/volume/connectors?": 2 },
    ...{ "/v1/volume/targets?": 2, "provision_state=active": 2 },
    ...{ "provision_state=manageable": 1, "provision_state=enroll": 1 },
  }))
    assert.equal(cloud.calls.filter((call) => call.includes(listing)).length, calls, listing);
  assert.equal(cloud.calls.length, 7 + 4 + 2, "and two to see what is there");
  assert.deepEqual(writes(cloud), []);
});

test("what must be equal can be said otherwise, in a document of the same form", async (t) => {
  const cloud = await inMemory(t);
  addBooted(cloud, 1);
  addSpare(cloud, 11, { driver: "redfish" });
  const folder = privateFolder(t);
  const told = async (text: string, status = 0) => {
    const file = join(folder, "identical.yaml");
    writeFileSync(file, text);
    return runs(status, [...list, "--need", "1", "--identical", file, ...cloud.words]);
  };
  await told(readFileSync("mappings/identical.json", "utf8"), 2);
  const format = "format: nova2ironic/identical@1\n";
  await told(`${format}fields: [{ field: properties.cpus, as: number }]\n`);
  const wrong = await told(
    `${format}fields:\n  - { field: ports, as: list }\n  - { field: a, as: text, of: [b] }\n  - { field: "", as: x }\n`,
    64,
  );
  assert.match(wrong.err, /N2I-E103[\s\S]*\/fields\/0 lacks of/);
  assert.match(wrong.err, /\/fields\/1\/of/);
  assert.match(wrong.err, /\/fields\/2\/as must be one of text, number/);
  assert.match((await told(`${format}fields: []\n`, 64)).err, /fields is empty/);
});

test("an Ironic without automated_clean has no list of spares", async (t) => {
  const old = await inMemory(t, 46);
  const stein = /a switchover needs 1\.47 \(Stein\) or later/;
  await refused([...list, ...old.words], 4, "N2I-E209", [stein]);
});
