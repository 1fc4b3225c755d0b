import assert from "node:assert/strict";
import { setMaxListeners } from "node:events";
import { test } from "node:test";
import { endpointOf } from "../../../src/lib/ipmi/address.ts";
import { openClient } from "../../../src/lib/ipmi/ask.ts";
import { SESSION_DEFAULTS } from "../../../src/lib/ipmi/session.ts";
import type { Mux } from "../../../src/lib/ipmi/transport.ts";
import { QUICK } from "../../lab/bmc/quick-clock.ts";
import { hex } from "./sim.ts";
import { muxOf, udpBmc } from "./udp-bmc.ts";

const LIMITS = { deadline: 20_000, signal: new AbortController().signal };
setMaxListeners(0, LIMITS.signal);

const over = (mux: Mux) => openClient(SESSION_DEFAULTS, QUICK, mux).ask;

for (const address of ["127.0.0.1", "::ffff:127.0.0.1"]) {
  test(`a BMC at ${address} is asked over real sockets`, async (t) => {
    const bound = (await endpointOf(address, 1, LIMITS))?.address ?? "";
    const { bmc, question } = await udpBmc(t, { power: false }, { address: bound });
    const reading = await over(muxOf(t))({ ...question, address }, LIMITS);
    assert.deepEqual([reading.verdict, reading.power], ["ok", "off"], reading.detail);
    assert.deepEqual([reading.address, reading.pass], [address, 1]);
    assert.equal(bmc.open(), 0);
  });
}

test("an answer from another port is ignored, and also one that names our session", async (t) => {
  for (const onlyNamed of [false, true]) {
    const shared = muxOf(t);
    const { bmc, question } = await udpBmc(t, {}, { answerFrom: "127.0.0.1", onlyNamed });
    const reading = await over(shared)(question, { ...LIMITS, deadline: 2500 });
    assert.equal(reading.verdict, onlyNamed ? "deadline" : "unreachable");
    assert.ok(shared.unexpected() >= 1);
    assert.equal(bmc.counts.opens > 0, onlyNamed);
    assert.equal(bmc.counts.rakp1, 0);
  }
});

test("150 BMCs at once share three sockets, and none takes another's answer", async (t) => {
  const shared = muxOf(t);
  const probe = over(shared);
  const bmcs = await Promise.all(
    Array.from({ length: 150 }, (_, at) => udpBmc(t, { power: at % 3 === 0 }, { delay: 20 })),
  );
  const readings = await Promise.all(bmcs.map(({ question }) => probe(question, LIMITS)));
  for (const [at, { verdict, power }] of readings.entries())
    assert.deepEqual([verdict, power], ["ok", at % 3 === 0 ? "on" : "off"]);
  assert.equal(shared.sockets(), 3);
  assert.ok(bmcs.every(({ bmc }) => bmc.open() === 0));
});

test("two questions to one BMC wait for each other", async (t) => {
  const { bmc, question } = await udpBmc(t, {}, { delay: 5 });
  const probe = over(muxOf(t));
  const both = await Promise.all([probe(question, LIMITS), probe(question, LIMITS)]);
  const verdicts = both.map(({ verdict }) => verdict);
  assert.deepEqual(verdicts, ["ok", "ok"]);
  const one = ["06/3b", "00/01", "06/01", "06/3c"];
  assert.deepEqual(bmc.seen, [...one, ...one]);
});

test("a line that is closed hears and sends nothing more, and the next one may begin", async (t) => {
  const shared = muxOf(t);
  const { bmc, question } = await udpBmc(t);
  const endpoint = await endpointOf(question.address, question.port ?? 0, LIMITS);
  assert.ok(endpoint !== null);
  const line = await shared.line(endpoint);
  line.close();
  line.send(Buffer.from("nothing"));
  const reading = await over(shared)(question, LIMITS);
  assert.equal(reading.verdict, "ok");
  assert.equal(bmc.counts.opens, 1);
});

test("a name that is not known is unreachable", async (t) => {
  const probe = over(muxOf(t));
  const { question } = await udpBmc(t);
  const unknown = await probe({ ...question, address: "no..such" }, LIMITS);
  assert.equal(unknown.verdict, "unreachable");
  assert.match(unknown.detail, /cannot be resolved/);
});

test("a user name that does not fit is not sent at all", async (t) => {
  const probe = over(muxOf(t));
  const { bmc, question } = await udpBmc(t);
  for (const user of ["x".repeat(17), "é".repeat(9), "a\0b"]) {
    const reading = await probe({ ...question, user }, LIMITS);
    assert.equal(reading.verdict, "incomplete");
  }
  assert.equal(bmc.counts.opens, 0);
});

test("a reading holds no secret, whatever came of it", async (t) => {
  const probe = over(muxOf(t));
  const { question } = await udpBmc(t, { kg: hex("KgKgKgKgKgKgKgKgKgKg") });
  for (const password of ["s3cret-Passw0rd", "an0ther-Passw0rd"]) {
    const kg = (): Uint8Array => Buffer.from("0ther-Kg");
    const reading = await probe({ ...question, password: () => password, kg }, LIMITS);
    const text = JSON.stringify(reading);
    for (const secret of ["s3cret", "an0ther", "KgKg", "0ther-Kg"])
      assert.ok(!text.includes(secret), text);
  }
});

for (const address of [
  ...["0.0.0.0", "0.1.2.3", "255.255.255.255", "224.0.0.1", "239.1.2.3"],
  ...["::", "ff02::1", "ff02::1%lo", "::ffff:224.0.0.1", "::ffff:0.0.0.0"],
  // A name that inet_aton reads as 0.0.0.0, and getaddrinfo with it.
  "0",
])
  test(`${address} is no machine's, so nothing is sent there`, async (t) => {
    const mux = muxOf(t);
    const question = { bm_node_ids: [1], address, user: "admin", password: () => "s3cret" };
    const reading = await over(mux)(question, LIMITS);
    assert.equal(reading.verdict, "incomplete");
    assert.match(reading.detail, /not the address of a single machine/);
    assert.equal(mux.sockets(), 0);
  });

test("an IPv6 address keeps its zone, in whatever spelling", async () => {
  const endpoint = await endpointOf("FE80:0:0::1%eth0", 623, LIMITS);
  assert.deepEqual(endpoint, { family: 6, address: "fe80::1%eth0", port: 623 });
});
