import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  askAll,
  type BmcReading,
  type BmcTarget,
  type BmcVerdict,
} from "../../../src/edge/ipmi/index.ts";
import {
  type BmcOptions,
  bigFleet,
  startFarmProcess,
} from "../../../src/edge/ipmi/testing/index.ts";

/** What one in a hundred BMCs is like, and the verdict it must bring. */
const ODD: readonly (readonly [Partial<BmcOptions>, BmcVerdict])[] = [
  [{ dead: true }, "unreachable"],
  [{ closed: true }, "port-closed"],
  [{ answerFrom: "127.0.0.77" }, "unreachable"],
  [{ version2: false }, "no-ipmi2"],
  [{ busy: { code: 0xc0, times: 2, command: "00/01" } }, "ok"],
  [{ busy: { code: 0xc3, times: 3, command: "00/01" } }, "ok"],
  [{ busy: { code: 0xc0, times: 1e9, command: "00/01" } }, "busy"],
  [{ users: [{ name: "admin", password: "another" }] }, "wrong-password"],
  [{ users: [{ name: "root", password: "s3cret-Passw0rd" }] }, "wrong-user"],
  [{ users: [], unknownUser: "silent" }, "silent"],
  [{ kg: "00112233445566778899aabbccddeeff00112233" }, "wrong-kg"],
  [{ openStatus: { "*": 1 } }, "no-slots"],
  [{ openStatus: { "*": 1 }, errorLength: 2 }, "no-slots"],
  [{ sessionLimit: 0 }, "no-slots"],
  [{ suites: [17] }, "ok"],
  [{ suites: [3] }, "ok"],
  [{ suites: [3], advertised: [3, 17], openStatus: { "17": 4 }, errorLength: 2 }, "ok"],
  [{ suites: [17], silent54: true, openStatus: { "3": 1 } }, "ok"],
  [{ suites: [0, 2] }, "cipher-refused"],
  [{ users: [{ name: "admin", password: "s3cret-Passw0rd", limit: 3 }] }, "ok"],
  [{ users: [{ name: "admin", password: "s3cret-Passw0rd", limit: 3 }], roleStatus: null }, "ok"],
  [{ users: [{ name: "admin", password: "s3cret-Passw0rd", limit: 2 }] }, "privilege-refused"],
  [{ openPrivilege: true }, "ok"],
  [{ wrongChecksums: true }, "ok"],
  [{ duplicate: 0.3, reorder: 0.3 }, "ok"],
  [{ garbage: 0.5 }, "ok"],
  [{ late: { probability: 0.3, ms: 1500 } }, "ok"],
  [{ repeats: "answered", echoPrivilege: true }, "ok"],
  [{ chassisFlags: 0x18, statusLength: 1 }, "ok"],
];

const COUNT = 2000;
const RUNS = 3;
const NETWORK: Partial<BmcOptions> = { dropRx: 0.02, dropTx: 0.02, delayMs: 20 };

test(`no verdict on ${COUNT} BMCs is false, with 2 % loss each way and all that can be wrong, in ${RUNS} runs`, async (t) => {
  // Nets no other test uses; the runs know nothing of each other but the processor.
  const net = 200 + Math.floor(Math.random() * 50);
  const fleets: Fleet[] = [];
  for (let at = 0; at < RUNS; at++) fleets.push(await startFleet(t, net + at));
  const runs = fleets.map((fleet) => askFleet(t, fleet));
  assert.deepEqual((await Promise.all(runs)).flat(), []);
});

type Fleet = Awaited<ReturnType<typeof startFleet>>;

async function startFleet(t: TestContext, net: number) {
  const addresses = bigFleet(COUNT, net);
  const bmcs = addresses.map((address, at) => {
    const odd = ODD[at % 100]?.[0] ?? {};
    // Two fleets cannot answer from one address.
    const elsewhere = "answerFrom" in odd ? { answerFrom: `127.${net}.255.77` } : {};
    return { address, power: at % 2 === 0, ...odd, ...elsewhere };
  });
  const seed = 1 + Math.floor(Math.random() * 1e6);
  const farm = await startFarmProcess({ seed, all: NETWORK, bmcs });
  t.after(farm.stop);
  return { addresses, seed, farm };
}

/** @returns what is false, a line each */
async function askFleet(t: TestContext, fleet: Fleet): Promise<readonly string[]> {
  const { addresses, seed, farm } = fleet;
  const readings: { readonly at: number; readonly reading: BmcReading }[] = [];
  for await (const { targets, reading } of askAll(questions(addresses)))
    readings.push({ at: targets[0].at, reading });
  const { dropped, received } = await farm.ask({ do: "counts" });
  t.diagnostic(`seed ${seed}: ${readings.length} readings, ${dropped} datagrams lost`);
  assert.equal(readings.length, COUNT);
  assert.ok(dropped > received / 50, `${dropped} lost`);
  assert.deepEqual(await farm.ask({ do: "commands" }), []);
  return readings.flatMap(({ at, reading: { verdict, power, detail } }) => {
    const wanted = ODD[at % 100]?.[1] ?? "ok";
    const state = wanted !== "ok" ? null : at % 2 === 0 ? "on" : "off";
    const right = verdict === wanted && power === state;
    return right ? [] : [`seed ${seed}, ${at} ${wanted} ${verdict}: ${detail}`];
  });
}

async function* questions(
  addresses: readonly string[],
): AsyncGenerator<BmcTarget & { readonly at: number }> {
  for (const [at, address] of addresses.entries())
    yield { at, address, user: "admin", password: () => "s3cret-Passw0rd" };
}
