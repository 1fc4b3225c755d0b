import assert from "node:assert/strict";
import { test } from "node:test";
import { endpointOf } from "../../../src/lib/ipmi/address.ts";
import { askOver } from "../../../src/lib/ipmi/ask.ts";
import { muxOf } from "./udp-bmc.ts";

const LIMITS = { deadline: 3000, signal: new AbortController().signal };

for (const address of [
  ...["0.0.0.0", "0.1.2.3", "255.255.255.255", "224.0.0.1", "239.1.2.3"],
  ...["::", "ff02::1", "ff02::1%lo", "::ffff:224.0.0.1", "::ffff:0.0.0.0"],
  // A name that inet_aton reads as 0.0.0.0, and getaddrinfo with it.
  "0",
])
  test(`${address} is no machine's, so nothing is sent there`, async (t) => {
    const mux = muxOf(t);
    const question = { bm_node_ids: [1], address, user: "admin", password: () => "s3cret" };
    const reading = await askOver(mux)(question, LIMITS);
    assert.equal(reading.verdict, "incomplete");
    assert.match(reading.detail, /not the address of a single machine/);
    assert.equal(mux.sockets(), 0);
  });

test("an IPv6 address keeps its zone, in whatever spelling", async () => {
  const endpoint = await endpointOf("FE80:0:0::1%eth0", 623);
  assert.deepEqual(endpoint, { family: 6, address: "fe80::1%eth0", port: 623 });
});
