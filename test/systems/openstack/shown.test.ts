import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openServerAllocations } from "../../../src/systems/nova-api/allocations.ts";
import { cloudOf } from "../../../src/systems/openstack/cloud.ts";
import { openNetwork } from "../../../src/systems/openstack/neutron-ports.ts";
import { pauseShorter } from "../../../src/systems/openstack/passing.ts";
import { settledOnce } from "../../../src/systems/openstack/settled.ts";
import { says } from "../../manage/in-memory.ts";
import { faultyService, isWrite } from "../../support/faulty-service.ts";

before(() => pauseShorter(0));
after(() => pauseShorter(1));

const PORT = {
  ...{ id: "p", mac_address: "52:54:00:00:00:01", device_id: "d", device_owner: "" },
  ...{ "binding:host_id": "old", extra_dhcp_opts: [], revision_number: 1 },
};
const PLACED = { allocations: { from: { resources: { CUSTOM_BM: 1 } } }, consumer_generation: 1 };

/** Answers to reads, by what their paths have. */
const READS = {
  "/ports/": { port: PORT },
  "/inventories/": { reserved: 0 },
  "/allocations/": PLACED,
};

test("a write of Neutron or Placement that is answered with 200 and not made is made once, and refused", async (t) => {
  const { url, calls } = await faultyService(t, {
    ...{ most: 82, here: true },
    answer: (call) => {
      const [, body = {}] = Object.entries(READS).find(([path]) => call.includes(path)) ?? [];
      return says(200, isWrite(call) ? {} : body);
    },
  });
  const names = ["network_endpoint_override", "placement_endpoint_override"];
  const place = cloudOf(new Map(names.map((name) => [name, url])), "OS_*");
  const network = await openNetwork(place, 5000);
  const placement = await openServerAllocations(place, 5000);
  t.after(network.close);
  t.after(placement.close);
  const [free, taken] = [
    { device_id: "d", device_owner: "" },
    { device_id: "e", device_owner: "x" },
  ];
  // Writes of systems besides Ironic, none of which is looked at again by whoever makes it.
  for (const [what, write] of Object.entries({
    "a port's device": async () => (await network.bind("p", [free], taken))?.reason,
    "a port's fields": () => network.restore("p", { dns_name: "web" }, ["d"]),
    "a port's host": () => network.rebind("p", { host: "new", options: {} }, "d"),
    "a server's allocations": () => placement.move("s", "from", "to"),
  })) {
    calls.length = 0;
    assert.match((await write()) ?? "", /accepted without effect$/, what);
    assert.equal(calls.filter(isWrite).length, 1, what);
  }
});

test("an effect that another server of the same service shows a moment later is waited for", async () => {
  let [looks, calls] = [0, 0];
  const answer = { status: 200, body: null, fault: "", headers: {} };
  const why = await settledOnce(
    ...[{ url: "" }, "a change"],
    async () => {
      looks += 1;
      return looks > 3 ? "made" : "open";
    },
    async () => {
      calls += 1;
      return answer;
    },
  );
  assert.deepEqual([why, looks, calls], [null, 4, 1]);
});
