import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openServerAllocations } from "../../../src/systems/nova-api/allocations.ts";
import { openNetwork } from "../../../src/systems/openstack/neutron-ports.ts";
import { pauseShorter } from "../../../src/systems/openstack/passing.ts";
import { cloudOf } from "../../../src/systems/openstack/settings.ts";
import { shown } from "../../../src/systems/openstack/settled.ts";
import { faultyService, isWrite } from "../../support/faulty-service.ts";

before(() => pauseShorter(0));
after(() => pauseShorter(1));

const PORT = {
  ...{ id: "p", mac_address: "52:54:00:00:00:01", device_id: "d", device_owner: "" },
  ...{ "binding:host_id": "old", extra_dhcp_opts: [], revision_number: 1 },
};
const PLACED = { allocations: { from: { resources: { CUSTOM_BM: 1 } } }, consumer_generation: 1 };

/** Writes of systems besides Ironic, none of which is looked at again by whoever makes it. */
const WRITES = {
  "a port's device": ({ network }) =>
    network
      .bind("p", [{ device_id: "d", device_owner: "" }], { device_id: "e", device_owner: "x" })
      .then((refused) => refused?.why ?? null),
  "a port's fields": ({ network }) => network.restore("p", { dns_name: "web" }, ["d"]),
  "a port's host": ({ network }) => network.place("p", { host: "new", options: {} }, "d"),
  "a server's allocations": ({ placement }) => placement.move("s", "from", "to"),
} satisfies {
  readonly [what: string]: (at: {
    readonly network: Awaited<ReturnType<typeof openNetwork>>;
    readonly placement: Awaited<ReturnType<typeof openServerAllocations>>;
  }) => Promise<string | null>;
};

test("a write of Neutron or Placement that is answered with 200 and not made is made once, and refused", async (t) => {
  const { url, calls } = await faultyService(t, {
    ...{ most: 82, here: true },
    answer: (call) => {
      const body = isWrite(call)
        ? {}
        : call.includes("/ports/")
          ? { port: PORT }
          : call.includes("/inventories/")
            ? { reserved: 0 }
            : call.includes("/allocations/")
              ? PLACED
              : {};
      return { status: 200, text: JSON.stringify(body) };
    },
  });
  const place = cloudOf(
    new Map([
      ["network_endpoint_override", url],
      ["placement_endpoint_override", url],
    ]),
    "OS_*",
  );
  const network = await openNetwork(place, 5000);
  const placement = await openServerAllocations(place, 5000);
  t.after(network.close);
  t.after(placement.close);
  for (const [what, write] of Object.entries(WRITES)) {
    calls.length = 0;
    assert.match(
      (await write({ network, placement })) ?? "",
      /accepted without effect$/,
      what,
    );
    assert.equal(calls.filter(isWrite).length, 1, what);
  }
});

test("an effect that another server of the same service shows a moment later is waited for", async () => {
  let [looks, calls] = [0, 0];
  const answer = { status: 200, body: null, fault: "", headers: {} };
  const why = await shown(
    ...[{ url: "" }, "a change"],
    async () => {
      looks += 1;
      return Promise.resolve(looks > 3 ? "made" : "open");
    },
    () => {
      calls += 1;
      return Promise.resolve(answer);
    },
  );
  assert.deepEqual([why, looks, calls], [null, 4, 1]);
});
