import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openBackend } from "../../src/migrate/open/backend.ts";
import { loadMappings } from "../../src/migrate/open/documents.ts";
import { assertRefusal, run, runs } from "../hostile/cli.ts";
import { type Fault, instead } from "../support/faulty-service.ts";
import { macOf, uuidOf } from "./in-memory.ts";
import { ID, type NovaInMemory } from "./nova-memory.ts";
import { loginAt, manage, NOVA, place, tokenFor, writes } from "./nova-place.ts";
import { BROKEN } from "./scene.ts";

test("what the adapter needs and nobody says is named, before any write", async (t) => {
  const { cloud, at, how } = await place(t);
  for (const [name, why] of [
    ["COMPUTE", /the URL of the compute service is not known/],
    ["PLACEMENT", /the URL of the placement service is not known/],
  ] as const) {
    const env = { ...how.env, [`OS_${name}_ENDPOINT_OVERRIDE`]: "" };
    assertRefusal(await run([...manage, ...NOVA, ...at], { env }), 64, "N2I-E106", why);
  }
  const tin = [...manage, "--nova", "--flavor", "tin", ...at];
  assert.match((await run(tin, how)).err, /N2I-E370 .*Nova has no flavor tin/);
  const image = [...manage, ...NOVA, "--image", "debian", ...at];
  assertRefusal(await run(image, how), 64, "N2I-E100", /no endpoint of the image service is known/);
  const zone = [...manage, ...NOVA, "--availability-zone", "nova:bm-1", ...at];
  assertRefusal(await run(zone, how), 64, "N2I-E100", /neither ZONE nor ZONE:HOST:NODE/);
  assert.deepEqual(writes(cloud), []);
});

test("an image that Nova makes no server of the flavor with is refused before any write, by its id too", async (t) => {
  const { cloud, at, how } = await place(t);
  const env = { ...how.env, OS_IMAGE_ENDPOINT_OVERRIDE: cloud.url };
  const none = ["VCPU", "MEMORY_MB", "DISK_GB"].map((name) => [`resources:${name}`, "0"] as const);
  const extra_specs = { "resources:CUSTOM_GOLD": "1", ...Object.fromEntries(none) };
  const flavor = { id: "gold", vcpus: 4, ram: 2048, disk: 10, extra_specs };
  const image: Record<string, unknown> = { status: "active", size: 1, min_ram: 0, min_disk: 0 };
  cloud.use((call) => {
    if (call === "GET /flavors/gold") return instead(200, { flavor });
    return call.startsWith("GET /v2/images/") ? instead(200, image) : null;
  });
  const words = (...more: readonly string[]) => [...manage, ...NOVA, ...more, ...at, "--dry-run"];
  await runs(0, words(), { env });
  for (const [what, why] of [
    [{ status: "deactivated" }, /image \S+ is deactivated in Glance: pass --image/],
    [{ min_ram: 4096 }, /image \S+ needs min_ram 4096, flavor gold has 2048/],
    [{ min_disk: 20 }, /image \S+ needs min_disk 20, flavor gold has 10/],
    [{ size: 2 ** 34 }, /image \S+ has 17179869184 bytes, flavor gold has a root disk of 10 GiB/],
  ] as const) {
    const fit = { ...image };
    Object.assign(image, what);
    for (const given of [[], ["--image", uuidOf(5, 7)]]) {
      const ran = await runs(4, words(...given), { env });
      assert.match(ran.err, why);
      assert.match(ran.err, given.length > 0 ? new RegExp(`image ${uuidOf(5, 7)}`) : /./);
    }
    Object.assign(image, fit);
  }
  assert.deepEqual(writes(cloud), []);
});

test("a zone that Nova has not, or makes no server in, is refused before any write; who may not list them goes on", async (t) => {
  const { cloud, at, how } = await place(t);
  cloud.rules.zones = { az1: true, az2: false };
  const before = cloud.dump();
  const asks = (zone: string) => run([...manage, ...NOVA, "--availability-zone", zone, ...at], how);
  for (const [zone, why] of [
    ["az3", /Nova has no availability_zone az3; it has nova, az1, az2/],
    [`az3:bm-1:${ID}`, /Nova has no availability_zone az3; it has/],
    ["az2", /every nova-compute of availability_zone az2 is disabled/],
  ] as const)
    assertRefusal(await asks(zone), 64, "N2I-E100", why);
  assert.deepEqual([writes(cloud), cloud.dump()], [[], before]);
  const listed = () => cloud.calls.filter((call) => call.includes("os-availability-zone")).length;
  const dry = ["--dry-run", ...at];
  for (const zone of ["nova", `nova:bm-1:${ID}`, "az1", `az1:bm-1:${ID}`])
    await runs(0, [...manage, ...NOVA, "--availability-zone", zone, ...dry], how);
  assert.equal(listed(), 3 + 2);
  for (const status of [403, 404]) {
    cloud.fail(/os-availability-zone/, instead(status));
    await runs(0, [...manage, ...NOVA, "--availability-zone", "az3", ...dry], how);
  }
});

test("a machine that was begun goes on, and back, whatever became of its zone", async (t) => {
  const { cloud, at, how } = await place(t);
  cloud.rules.zones = { az1: true };
  const words = [...manage, ...NOVA, "--availability-zone", "az1", ...at];
  const { node } = cloud;
  cloud.fail((call) => node.provision_state === "available" && !call.startsWith("GET"), BROKEN);
  assert.notEqual((await run(words, how)).status, 0);
  assert.equal(node.driver, "fake-hardware");
  cloud.use(() => null);
  cloud.rules.zones = { az1: false };
  await runs(0, words, how);
  assert.deepEqual([cloud.servers.size, cloud.heard], [1, []]);
});

for (const [speaks, release, status] of [
  ["1.46", "Rocky", 4],
  ["1.56", "Stein", 0],
] as const)
  test(`an Ironic of ${release}, which speaks up to ${speaks}, is ${status === 0 ? "new enough" : "refused, before any write"}`, async (t) => {
    const { cloud, at, how, before } = await place(t);
    cloud.rules.speaks = speaks;
    const why = /microversions up to 1\.46, but replacing a driver safely needs 1\.47/;
    for (const more of status === 0 ? [["--dry-run"]] : [["--dry-run"], []]) {
      const ran = await runs(status, [...manage, ...NOVA, ...more, ...at], how);
      if (status === 0) continue;
      assertRefusal(ran, status, "N2I-E209", why, /^Fix: Upgrade that service first\.$/m);
      assert.doesNotMatch(ran.err, /--ironic-db/);
    }
    assert.deepEqual(writes(cloud), []);
    assert.equal(cloud.dump(), before);
    assert.ok(cloud.calls.every((call) => !call.includes("parent_node"))); // of 1.83
  });

test("a port of the machine that --port does not name is refused, before any write", async (t) => {
  const { cloud, at, how } = await place(t);
  const [own, other] = [uuidOf(3, 1), uuidOf(3, 2)];
  const card = { uuid: "q", node_uuid: ID, address: macOf(2), extra: { vif_port_id: other } };
  cloud.ports.set("q", card);
  cloud.network.set(other, { ...cloud.port, id: other, mac_address: macOf(2) });
  const before = cloud.dump();
  const words = [...manage, ...NOVA, "--port", own, ...at];
  const ran = await runs(4, words, how);
  assert.match(ran.err, /N2I-E370 .*VIF 3\S+2 is attached to it, but not in the request/);
  assert.deepEqual([writes(cloud), cloud.dump()], [[], before]);
  await runs(0, [...words, "--port", other, "--dry-run"], how);
});

test("what is too old is told with what node can do about it", async (t) => {
  const { cloud, at, how } = await place(t);
  cloud.fail(/^GET \/servers\?limit/, instead(406));
  const nova = await run([...manage, ...NOVA, ...at], how);
  assertRefusal(nova, 4, "N2I-E209", /does not support microversion 2\.74/);
  cloud.use(() => null);
  const words = ["node", "manage", ID, "web-1", ...at];
  const refusals = [nova];
  for (const [speaks, why] of [
    ["1.56", /an allocation for a node in use needs 1\.58 \(Train\)/],
    ["1.20", /up to 1\.20, but adoption needs 1\.22 \(newton\) or later/],
  ] as const) {
    cloud.rules.speaks = speaks;
    const ran = await run(words, how);
    assertRefusal(ran, 4, "N2I-E209", why);
    refusals.push(ran);
  }
  for (const { err } of refusals) assert.match(err, /^Fix: Upgrade that service first\.$/m);
  assert.deepEqual(writes(cloud), []);
  // Whoever loads has another way.
  const asked = [{ ironicUrl: cloud.url }, await loadMappings(), { readOnly: true }] as const;
  const backend = await openBackend(...asked, () => undefined);
  t.after(backend.close);
  await assert.rejects(backend.identify(undefined), {
    ...{ code: "N2I-E209" },
    fix: "Upgrade that service first, or load the machines into the database with --ironic-db.",
  });
});

const REFUSED: readonly (readonly [string, (cloud: NovaInMemory) => void, RegExp])[] = [
  [
    "has a volume",
    ({ targets }) => targets.set("t", { uuid: "t", node_uuid: ID, boot_index: 0 }),
    /it has volumes, which Nova would remove/,
  ],
  [
    "has a port of another project",
    ({ port }) => Object.assign(port, { project_id: "q" }),
    /port 3\S+1 belongs to another project, and Nova would reject it/,
  ],
  [
    "is part of another, which Ironic turns on with it",
    ({ rules }) => Object.assign(rules, { speaks: "1.999", newer: { parent_node: uuidOf(1, 7) } }),
    /its parent is node 1\S+7, which Ironic powers on first, also with fake hardware/,
  ],
  [
    "has parts, which Ironic turns off with it",
    ({ rules }) => Object.assign(rules, { speaks: "1.83", children: [{ uuid: uuidOf(1, 8) }] }),
    /it has child nodes, which Ironic powers off first, also with fake hardware: 1\S+8/,
  ],
  [
    "has an interface that is newer than what is known",
    ({ rules }) => {
      rules.speaks = "1.999";
      rules.newer = { firmware_interface: "no-firmware", later_interface: "x" };
    },
    /would reset fields that cannot be restored: .*later_interface/,
  ],
];

for (const [what, makes, why] of REFUSED)
  test(`a machine that ${what} is refused by the command, before any write`, async (t) => {
    const { cloud, at, how } = await place(t);
    makes(cloud);
    const before = cloud.dump();
    cloud.fail(/^POST \/v3\//, { done: false, says: tokenFor("p") });
    for (const more of [["--dry-run"], []]) {
      const words = [...manage, ...NOVA, ...more, ...at.slice(0, 2)];
      const ran = await runs(4, words, loginAt(cloud, how));
      assert.match(ran.err, /N2I-E370/);
      assert.match(ran.err, why);
    }
    assert.deepEqual(writes(cloud), []);
    assert.equal(cloud.dump(), before);
  });

test("flavor and image are known by their names too, and the journal has their ids", async (t) => {
  const { cloud, at, how, before, undone } = await place(t);
  const env = { ...how.env, OS_IMAGE_ENDPOINT_OVERRIDE: cloud.url };
  const debian = { id: uuidOf(5, 7), name: "debian", status: "active" };
  const double = [1, 2].map((one) => ({ ...debian, id: uuidOf(5, one), name: "double" }));
  const images = [debian, ...double];
  let refuses: Fault | null = instead(400);
  cloud.use((call) => {
    if (refuses !== null && call.startsWith("POST /servers")) return refuses;
    const [, path, by, word] = /^GET (.v2.images)(.name=|.)(\w[\w-]*)/.exec(call) ?? [];
    if (path === undefined) return null;
    const found = images.filter(({ id, name }) => word === (by === "/" ? id : name));
    if (by !== "/") return instead(200, { images: found });
    return found[0] === undefined ? instead(404) : instead(200, found[0]);
  });
  const tries = (flavor: string, image: string) => {
    const wishes = ["--nova", "--flavor", flavor, "--image", image, "--watch", "0"];
    return run([...manage, ...wishes, ...at], { env });
  };
  const none = /Glance has no active image \w+, or more than one/;
  for (const image of ["double", "suse"])
    assertRefusal(await tries("bm.gold", image), 64, "N2I-E100", none);
  assert.match((await tries("bm", "debian")).err, /Nova has no flavor bm\b/);
  assert.deepEqual(writes(cloud), []);
  const left = await tries("bm.gold", "debian");
  assert.match(left.out + left.err, /rolled back/);
  const journal = readFileSync(join(at[1] ?? "", "journal.jsonl"), "utf8");
  const [, flavor, image] =
    /"step":"hold".*"flavor":"([^"]*)","image":"([^"]*)"/.exec(journal) ?? [];
  assert.deepEqual([flavor, image, cloud.dump()], ["gold", debian.id, before]);
  // What was begun goes on with what it began with, whatever the name means by then.
  refuses = BROKEN;
  assert.match((await tries("bm.gold", "debian")).err, /N2I-E210/);
  refuses = null;
  images.push({ ...debian, id: uuidOf(5, 8) });
  const twice = /more than one; machines of this run were started with image 5\S+7: pass that id/;
  assertRefusal(await tries("bm.gold", "debian"), 64, "N2I-E100", twice);
  assert.equal((await tries("bm.gold", debian.id)).status, 0);
  await undone();
});
