import assert from "node:assert/strict";
import { test } from "node:test";
import {
  open,
  type Rakp,
  rakp2Mac,
  rakp3Mac,
  rakp4Icv,
  type Suite,
  seal,
  sessionKeys,
  suiteOf,
} from "../../../src/lib/ipmi/crypto.ts";
import { openRequest, rakp1 } from "../../../src/lib/ipmi/login.ts";
import { parsePacket } from "../../../src/lib/ipmi/wire.ts";
import { bytes, type FixedLogin, fixedLogins } from "./vectors.ts";

/** As the vectors have them. */
const TAG = 7;
const SEQUENCE = 3;

test("there are nine logins with fixed numbers, over six suites", () => {
  assert.equal(fixedLogins().length, 9);
  assert.equal(new Set(fixedLogins().map(({ suite }) => suite)).size, 6);
});

for (const fixed of fixedLogins()) {
  const { suite: id, user, kg, role } = fixed;
  const title = `suite ${id}, user ${JSON.stringify(user)}, role 0x${role.toString(16)}${kg === null ? "" : ", Kg"}`;

  test(`every hash and key of the login is right: ${title}`, () => {
    const login = loginOf(fixed);
    const keys = sessionKeys(login);
    assert.deepEqual(
      {
        rakp2_mac: rakp2Mac(login).toString("hex"),
        rakp3_mac: rakp3Mac(login).toString("hex"),
        rakp4_icv: rakp4Icv(login, keys).toString("hex"),
        sik: keys.sik.toString("hex"),
        k1: keys.k1.toString("hex"),
        k2: keys.k2.toString("hex"),
      },
      {
        rakp2_mac: fixed.rakp2_mac,
        rakp3_mac: fixed.rakp3_mac,
        rakp4_icv: fixed.rakp4_icv,
        sik: fixed.sik,
        k1: fixed.k1,
        k2: fixed.k2,
      },
    );
  });

  test(`every packet of the login is right to the byte: ${title}`, () => {
    const login = loginOf(fixed);
    const { suite, consoleSession } = login;
    const request = openRequest(TAG, 0, consoleSession, suite);
    assert.equal(request.toString("hex"), fixed.open_request);
    assert.equal(rakp1(TAG, login).toString("hex"), fixed.rakp1);
    const keys = sessionKeys(login);
    const session = login.bmcSession.readUInt32LE();
    const message = bytes(fixed.message);
    const sealed = seal({ suite, keys, session }, SEQUENCE, message, bytes(fixed.iv));
    assert.equal(sealed.toString("hex"), fixed.sealed);
    const packet = parsePacket(sealed);
    assert.ok(packet !== null && packet.session === session);
    assert.deepEqual(open(suite, keys, packet), message);
  });
}

test("a signed packet with any bit changed does not open", () => {
  for (const fixed of fixedLogins().filter(({ suite }) => ![1, 15].includes(suite))) {
    const login = loginOf(fixed);
    const keys = sessionKeys(login);
    const sealed = bytes(fixed.sealed);
    for (let at = 4; at < sealed.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const changed = Buffer.from(sealed);
        changed[at] = (changed[at] ?? 0) ^ (1 << bit);
        const packet = parsePacket(changed);
        assert.ok(
          packet === null || open(login.suite, keys, packet) === null,
          `suite ${fixed.suite}, byte ${at}, bit ${bit}`,
        );
      }
    }
  }
});

test("suite 0 and suites with MD5 or RC4 are not spoken", () => {
  for (const id of [0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 18, 255])
    assert.equal(suiteOf(id), null);
});

function loginOf(fixed: FixedLogin): Rakp {
  return {
    suite: spoken(fixed.suite),
    role: fixed.role,
    user: Buffer.from(fixed.user),
    password: Buffer.from(fixed.password),
    kg: fixed.kg === null ? null : Buffer.from(fixed.kg),
    consoleSession: bytes(fixed.console_session),
    bmcSession: bytes(fixed.bmc_session),
    consoleRandom: bytes(fixed.console_random),
    bmcRandom: bytes(fixed.bmc_random),
    guid: bytes(fixed.guid),
  };
}

function spoken(id: number): Suite {
  const suite = suiteOf(id);
  assert.ok(suite !== null, `suite ${id}`);
  return suite;
}
