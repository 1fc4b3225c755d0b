import assert from "node:assert/strict";
import { lookup } from "node:dns/promises";
import { test } from "node:test";
import { endpointOf } from "../../../src/lib/ipmi/address.ts";
import { openClient } from "../../../src/lib/ipmi/ask.ts";
import { muxOf, udpBmc } from "./udp-bmc.ts";

const askOver = (mux: ReturnType<typeof muxOf>) => openClient(undefined, undefined, mux).ask;

// What needs IPv6, a name in /etc/hosts, or more loopback addresses than one.

const LIMITS = { deadline: 3000, signal: new AbortController().signal };

for (const address of ["::1", "0:0:0:0:0:0:0:1"])
  test(`a BMC at ${address} is asked over real sockets`, async (t) => {
    const { question } = await udpBmc(t, { power: false }, { address: "::1" });
    const reading = await askOver(muxOf(t))({ ...question, address }, LIMITS);
    assert.deepEqual([reading.verdict, reading.power], ["ok", "off"], reading.detail);
  });

test("an answer from another address is ignored, and also one that names our session", async (t) => {
  for (const onlyNamed of [false, true]) {
    const mux = muxOf(t);
    const { bmc, question } = await udpBmc(t, {}, { answerFrom: "127.0.0.2", onlyNamed });
    const reading = await askOver(mux)(question, { ...LIMITS, deadline: 2500 });
    assert.equal(reading.verdict, onlyNamed ? "deadline" : "unreachable");
    assert.ok(mux.unexpected() >= 1);
    assert.equal(bmc.counts.rakp1, 0);
  }
});

test("a network that is not there is unreachable", async (t) => {
  const { question } = await udpBmc(t);
  const unroutable = { ...question, address: "127.255.255.255" };
  const refused = await askOver(muxOf(t))(unroutable, { ...LIMITS, deadline: 1200 });
  assert.equal(refused.verdict, "unreachable");
  assert.match(refused.detail, /nothing could be sent: EACCES/);
});

test("of a name with several addresses the resolver's first is asked, as ipmitool does", async (t) => {
  const { address } = await lookup("localhost");
  const all = await lookup("localhost", { all: true });
  assert.equal((await endpointOf("localhost", 623, LIMITS))?.address, all[0]?.address);
  const { question } = await udpBmc(t, {}, { address });
  const reading = await askOver(muxOf(t))({ ...question, address: "localhost" }, LIMITS);
  assert.equal(reading.verdict, "ok");
});

test("a zone means nothing but on a link-local address", async (t) => {
  const { question } = await udpBmc(t, {}, { address: "::1" });
  const reading = await askOver(muxOf(t))({ ...question, address: "::1%lo" }, LIMITS);
  assert.equal(reading.verdict, "ok", reading.detail);
});

test("an address whose zone is no interface of this host is unreachable", async (t) => {
  const question = {
    ...{ bm_node_ids: [1], address: "fe80::1%nowhere0", user: "admin", password: () => "s3cret" },
  };
  const reading = await askOver(muxOf(t))(question, { ...LIMITS, deadline: 1200 });
  assert.equal(reading.verdict, "unreachable");
});
