import assert from "node:assert/strict";
import { test } from "node:test";
import { assertRefusal, run } from "../hostile/cli.ts";
import { manage, NOVA, place, writes } from "./nova-place.ts";

test("a conductor without fake-hardware is refused before any write", async (t) => {
  const { cloud, at, how } = await place(t);
  const before = cloud.dump();
  const drivers = JSON.stringify({ drivers: [{ name: "ipmi", hosts: ["c"] }] });
  const conductor = { hostname: "c", conductor_group: "", alive: true, drivers: ["ipmi"] };
  const conductors = JSON.stringify({ conductors: [conductor] });
  cloud.use((call) => {
    if (call.startsWith("GET /v1/drivers"))
      return { done: false, says: { status: 200, text: drivers } };
    if (call.startsWith("GET /v1/conductors"))
      return { done: false, says: { status: 200, text: conductors } };
    return null;
  });
  const ran = await run([...manage, ...NOVA, ...at], how);
  assert.equal(ran.status, 4, ran.err);
  assert.match(ran.err, /N2I-E370 .*hardware type fake-hardware is not enabled/);
  assert.deepEqual(writes(cloud), []);
  assert.equal(cloud.dump(), before);
});

test("what the adapter needs and nobody says is named, before any write", async (t) => {
  const { cloud, at, how } = await place(t);
  for (const [name, why] of [
    ["COMPUTE", /nothing says where the compute service is/],
    ["PLACEMENT", /nothing says where the placement service is/],
  ] as const) {
    const env = { ...how.env, [`OS_${name}_ENDPOINT_OVERRIDE`]: "" };
    assertRefusal(await run([...manage, ...NOVA, ...at], { env }), 64, "N2I-E106", why);
  }
  const tin = [...manage, "--nova", "--flavor", "tin", ...at];
  assert.match((await run(tin, how)).err, /N2I-E370 .*Nova has no flavor tin/);
  const zone = [...manage, ...NOVA, "--availability-zone", "nova:bm-1", ...at];
  assertRefusal(await run(zone, how), 64, "N2I-E100", /neither ZONE nor ZONE:HOST:NODE/);
  assert.deepEqual(writes(cloud), []);
});

for (const [speaks, release, status] of [
  ["1.46", "Rocky", 4],
  ["1.56", "Stein", 0],
] as const)
  test(`an Ironic of ${release}, which speaks up to ${speaks}, is ${status === 0 ? "new enough" : "refused, before any write"}`, async (t) => {
    const { cloud, at, how } = await place(t);
    const before = cloud.dump();
    const fields = { "X-OpenStack-Ironic-API-Maximum-Version": speaks };
    cloud.use((call) =>
      call === "GET /v1/"
        ? { done: false, says: { status: 200, text: '{"id":"v1"}', fields } }
        : null,
    );
    const why = /microversions up to 1\.46, and a driver is exchanged safely since 1\.47/;
    for (const more of status === 0 ? [["--dry-run"]] : [["--dry-run"], []]) {
      const ran = await run([...manage, ...NOVA, ...more, ...at], how);
      if (status === 0) assert.equal(ran.status, status, ran.err);
      else assertRefusal(ran, status, "N2I-E209", why);
    }
    assert.deepEqual(writes(cloud), []);
    assert.equal(cloud.dump(), before);
  });
