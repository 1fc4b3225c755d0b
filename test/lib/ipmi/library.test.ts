import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { COMMANDS, type Command } from "../../../src/lib/ipmi/commands.ts";
import * as library from "../../../src/lib/ipmi/index.ts";
import { askAll, connect, IpmiError } from "../../../src/lib/ipmi/index.ts";
import { QUICK } from "../../lab/bmc/quick-clock.ts";
import { type BmcOptions, startFarm } from "../../support/bmc/index.ts";

test("the library has no more commands than those that read, or open and close a session", () => {
  const all = Object.values(COMMANDS).map(({ netFn, cmd }) => `${netFn}/${cmd.toString(16)}`);
  assert.deepEqual(all.toSorted(), ["0/1", "6/1", "6/38", "6/3b", "6/3c", "6/54"]);
  // @ts-expect-error: the type accepts no other command.
  const other: Command = { name: "Chassis Control", netFn: 0, cmd: 0x02 };
  assert.ok(!Object.values<Command>(COMMANDS).includes(other));
});

test("what the package exports can be counted, and none of it switches", () => {
  assert.deepEqual(Object.keys(library).toSorted(), [
    ...["IpmiError", "SCHEDULE", "SESSION_DEFAULTS", "askAll", "connect", "openClient"],
  ]);
});

test("no code of the package names Chassis Control, and one place alone makes a request", () => {
  const files = readdirSync("src/lib/ipmi", { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => ({ name, code: withoutComments(readFileSync(`src/lib/ipmi/${name}`, "utf8")) }));
  const found = (pattern: RegExp): readonly string[] =>
    files.filter(({ code }) => pattern.test(code)).map(({ name }) => name);
  assert.deepEqual(found(/chassis\W?control|power\W?(on|off|up|down|cycle)|hard\W?reset/i), []);
  assert.deepEqual(found(/\b0?0\/0?2\b/), []);
  // The network function goes into the second byte of a message.
  assert.deepEqual(found(/netFn\s*<<\s*2/), ["wire.ts"]);
  assert.deepEqual(found(/\brequest\(/), ["discover.ts", "session.ts", "wire.ts"]);
});

/** What can be done with the library, in any order and beside each other. */
const DEEDS = ["chassisStatus", "deviceId", "close", "askAll", "two"] as const;

test("whatever is called, the farm sees no command that does more than read", async (t) => {
  const farm = await startBmcs(t, [
    {},
    { users: [{ name: "admin", password: "s3cret-Passw0rd", limit: 3 }] },
    { users: [{ name: "admin", password: "another" }] },
    { busy: { code: 0xc0, times: 1, command: "00/01" }, suites: [3] },
    { garbage: 0.3, duplicate: 0.3, wrongChecksums: true },
  ]);
  const run = fc.record({
    at: fc.nat(farm.addresses.length - 1),
    deeds: fc.array(fc.constantFrom(...DEEDS), { maxLength: 6 }),
    level: fc.constantFrom("ADMINISTRATOR" as const, "OPERATOR" as const),
    suite: fc.constantFrom(3, 17),
  });
  await fc.assert(
    fc.asyncProperty(run, async ({ at, deeds, level, suite }) => {
      const { address, port } = farm.at(farm.addresses[at] ?? "");
      await useAll(address, deeds, { port, level, suite, deadline: 5000, clock: QUICK }).catch(
        (error: unknown) => assert.ok(error instanceof IpmiError, String(error)),
      );
    }),
    { numRuns: 30, seed: 1 },
  );
  assert.deepEqual(farm.commands(), []);
  const { logins, statusReads, closes } = farm.counts();
  assert.ok(logins > 10 && statusReads > 5, JSON.stringify(farm.counts()));
  assert.ok(closes >= logins, `${closes} of ${logins} closed`);
});

async function useAll(
  address: string,
  deeds: readonly (typeof DEEDS)[number][],
  { port = 0, ...options }: library.ConnectOptions,
): Promise<void> {
  const login = { user: "admin", password: () => "s3cret-Passw0rd" };
  const session = await connect(address, login, { port, ...options });
  try {
    for (const deed of deeds) {
      if (deed === "two") await Promise.all([session.chassisStatus(), session.deviceId()]);
      else if (deed !== "askAll") await session[deed]();
      else
        for await (const { reading } of askAll([{ address, port, ...login }], { clock: QUICK }))
          assert.notEqual(reading.verdict, "incomplete");
    }
  } finally {
    await session.close();
  }
}

async function startBmcs(t: TestContext, bmcs: readonly Partial<BmcOptions>[]) {
  const all = bmcs.map((bmc, at) => ({ address: `192.0.2.${at + 1}`, ...bmc }));
  const farm = await startFarm({ local: true, bmcs: all }, undefined, QUICK);
  t.after(farm.close);
  return { ...farm, addresses: all.map(({ address }) => address) };
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, "");
}

test("a reading that ends at once is not missed, and an empty address is unreachable", async () => {
  const target = (address: string, user: string) => ({ address, user, password: () => "p" });
  const verdicts = async (targets: Parameters<typeof askAll>[0], options: object) => {
    const found: string[] = [];
    for await (const { reading } of askAll(targets, options)) found.push(reading.verdict);
    return found;
  };
  const schedule = { gap: 10 };
  for (let awaits = 0; awaits < 10; awaits++) {
    const ask = async () => {
      for (let at = 0; at < awaits; at++) await null;
      return { verdict: "ok", elapsed: 0, attempts: 1, pass: 1 };
    };
    // Two logins of one BMC: the second waits for the end of the first.
    const two = [target("192.0.2.1", "u1"), target("192.0.2.1", "u2")];
    assert.deepEqual(await verdicts(two, { schedule, ask }), ["ok", "ok"]);
  }
  assert.deepEqual(await verdicts([target("", "u1")], { schedule }), ["unreachable"]);
});
