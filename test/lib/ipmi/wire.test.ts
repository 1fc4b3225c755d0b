import assert from "node:assert/strict";
import { createCipheriv, createHmac } from "node:crypto";
import { test } from "node:test";
import { COMMANDS } from "../../../src/lib/ipmi/commands.ts";
import {
  open,
  type Rakp,
  rakp2Mac,
  rakp3Mac,
  rakp4Icv,
  type Suite,
  seal,
  sessionKeys,
  startsWithMac,
  suiteOf,
} from "../../../src/lib/ipmi/crypto.ts";
import { messages } from "../../../src/lib/ipmi/login.ts";
import { PAYLOAD, parsePacket, plain } from "../../../src/lib/ipmi/wire.ts";
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
    const codes = [rakp2Mac(login), rakp3Mac(login), rakp4Icv(login, keys)];
    assert.deepEqual(
      [...codes, keys.sik, keys.k1, keys.k2].map((one) => one.toString("hex")),
      [fixed.rakp2_mac, fixed.rakp3_mac, fixed.rakp4_icv, fixed.sik, fixed.k1, fixed.k2],
    );
  });

  test(`every packet of the login is right to the byte: ${title}`, () => {
    const login = loginOf(fixed);
    const { suite, consoleSession } = login;
    const request = messages.openRequest(TAG, 0, consoleSession, suite);
    assert.equal(request.toString("hex"), fixed.open_request);
    assert.equal(messages.rakp1(TAG, login).toString("hex"), fixed.rakp1);
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
    for (let bit = 4 * 8; bit < sealed.length * 8; bit++) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      const packet = parsePacket(changed);
      const opened = packet && open(login.suite, keys, packet);
      assert.equal(opened, null, `suite ${fixed.suite}, bit ${bit}`);
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

const KEYS = { sik: Buffer.alloc(20, 1), k1: Buffer.alloc(20, 2), k2: Buffer.alloc(20, 3) };
const SESSION = Buffer.from("a4a3a2a0", "hex");

test("a MAC that is shorter than it should be matches nothing, a longer one by its beginning", () => {
  const mac = Buffer.from("0102030405060708", "hex");
  assert.equal(startsWithMac(mac.subarray(0, 7), mac), false);
  assert.equal(startsWithMac(Buffer.alloc(0), mac), false);
  assert.equal(startsWithMac(Buffer.concat([mac, Buffer.from([9])]), mac), true);
  assert.equal(startsWithMac(Buffer.concat([Buffer.from([9]), mac]), mac), false);
});

test("a rightly signed packet whose padding or length does not fit does not open", () => {
  const message = Buffer.from("2000e08114016a", "hex");
  const padded = (pad: number) => Buffer.concat([message, Buffer.alloc(8, 1), Buffer.from([pad])]);
  assert.deepEqual(opened(sealed(padded(8))), message);
  assert.deepEqual(opened(sealed(padded(15))), Buffer.alloc(0));
  for (const pad of [16, 17, 200, 255]) assert.equal(opened(sealed(padded(pad))), null);
  for (const length of [0, 1, 15, 16, 17, 31, 33])
    assert.equal(opened(signed(Buffer.alloc(length, 7))), null, `${length} bytes`);
  for (const length of [0, 1, 3, 255])
    assert.equal(opened(signed(Buffer.alloc(32, 7), length)), null, `padding of ${length}`);
});

test("a packet that announces more than it holds is none", () => {
  const packet = plain(PAYLOAD.rakp2, Buffer.alloc(40));
  assert.ok(parsePacket(packet) !== null);
  assert.equal(parsePacket(packet.subarray(0, -1)), null);
  packet.writeUInt16LE(0xffff, 14);
  assert.equal(parsePacket(packet), null);
});

test("an agreement that is cut short is no answer", () => {
  const { opened, rakp2 } = messages;
  const answer = (type: number, length: number): Buffer => {
    const payload = Buffer.alloc(length);
    SESSION.copy(payload, 4);
    return plain(type, payload);
  };
  const read = (type: number, length: number, parse: typeof opened | typeof rakp2) => {
    const packet = parsePacket(answer(type, length));
    return packet === null ? null : parse(packet, 0, SESSION);
  };
  assert.notEqual(read(PAYLOAD.openResponse, 36, opened), null);
  assert.equal(read(PAYLOAD.openResponse, 35, opened), null);
  assert.notEqual(read(PAYLOAD.rakp2, 40, rakp2), null);
  assert.equal(read(PAYLOAD.rakp2, 39, rakp2), null);
  for (const length of [0, 1, 2, 7]) assert.equal(read(PAYLOAD.rakp2, length, rakp2), null);
});

test("a list of suites is read with vendors' records in it, whatever their numbers", () => {
  const list = [0xc0, 3, 1, 0x41, 0x81, 0xc1, 0x80, 0xc0, 0xc0, 0xc0, 1, 0x41, 0xc0, 0xc0, 1, 0x41];
  assert.deepEqual(
    COMMANDS.suites.parse(Buffer.from([...list, 0xc0, 17, 3, 0x44, 0x81])),
    [3, 17, 0xc0],
  );
  assert.deepEqual(COMMANDS.suites.parse(Buffer.from([0xc0])), []);
  assert.deepEqual(COMMANDS.suites.parse(Buffer.alloc(0)), []);
});

test("a device is read as far as it tells", () => {
  const whole = Buffer.from("2001890802bf9112000f02", "hex");
  const told = { firmware: "9.08", updating: true };
  assert.deepEqual(COMMANDS.device.parse(whole), { device: 0x020f, manufacturer: 4753, ...told });
  const cut = COMMANDS.device.parse(whole.subarray(0, 6));
  assert.deepEqual(cut, { device: null, manufacturer: null, ...told });
  assert.equal(COMMANDS.device.parse(whole.subarray(0, 5)), null);
});

function opened(datagram: Buffer): Buffer | null {
  const packet = parsePacket(datagram);
  assert.ok(packet !== null);
  return open(spoken(3), KEYS, packet);
}

/** Made here again, so that the padding is ours to choose. */
function sealed(clear: Buffer): Buffer {
  const iv = Buffer.alloc(16, 5);
  const cipher = createCipheriv("aes-128-cbc", KEYS.k2.subarray(0, 16), iv).setAutoPadding(false);
  return signed(Buffer.concat([iv, cipher.update(clear), cipher.final()]));
}

function signed(payload: Buffer, padLength?: number): Buffer {
  const packet = plain(0xc0, payload, 7, 1);
  const pad = (4 - ((packet.length - 4 + 2) % 4)) % 4;
  const body = Buffer.concat([packet, Buffer.alloc(pad, 0xff), Buffer.from([padLength ?? pad, 7])]);
  const mac = createHmac("sha1", KEYS.k1).update(body.subarray(4)).digest().subarray(0, 12);
  return Buffer.concat([body, mac]);
}
