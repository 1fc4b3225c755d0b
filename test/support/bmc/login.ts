import { type Bmc, hasRoom, limitOf, passwordOf, type SimSession, userOf } from "./bmc.ts";
import { code, NO_KEYS, same, sessionKeys, suiteOf } from "./crypto.ts";
import { plain20 } from "./packet.ts";

const OPEN = { request: 32, response: 36 } as const;
const BAD_SESSION = 0x02;
const BAD_CODE = 0x0f;

/** Open Session Request to Response. Null: silence. */
export function openSession(bmc: Bmc, request: Buffer, now: number): Buffer | null {
  if (request.length < OPEN.request) return null;
  bmc.counts.opens++;
  const { options } = bmc;
  const refuse = (status: number): Buffer =>
    refusal(bmc, { type: 0x11, full: OPEN.response }, request, status, request.subarray(4, 8));
  const suite = suiteOf(
    request.readUInt8(12) & 0x3f,
    request.readUInt8(20) & 0x3f,
    request.readUInt8(28) & 0x3f,
  );
  const status = options.openStatus[String(suite?.id)] ?? options.openStatus["*"];
  if (status !== undefined && bmc.counts.refusedOpens < options.openTimes) {
    bmc.counts.refusedOpens++;
    return refuse(status);
  }
  if (suite === undefined || !options.suites.includes(suite.id)) return refuse(options.suiteStatus);
  if (!hasRoom(bmc, now)) return refuse(0x01);
  const id = ++bmc.lastId;
  const ourId = Buffer.alloc(4);
  ourId.writeUInt32LE(id);
  const session: SimSession = {
    id,
    ...{ stage: "opened", user: null, privilege: 2, usedAt: now },
    suite,
    theirId: Buffer.from(request.subarray(4, 8)),
    ourId,
    openPrivilege: request.readUInt8(1) & 0x0f,
    keys: NO_KEYS,
    ...{ consoleRandom: NOTHING, random: NOTHING, identity: NOTHING, last: null },
    ...{ seen: { highest: 0, bits: 1 }, sent: 0 },
  };
  bmc.sessions.set(id, session);
  const granted = session.openPrivilege === 0 && !options.echoPrivilege ? 4 : session.openPrivilege;
  const head = [request.readUInt8(0), 0, granted, 0];
  const algorithms = request.subarray(8, OPEN.request);
  return plain20(0x11, Buffer.concat([Buffer.from(head), session.theirId, ourId, algorithms]));
}

export function rakp1(bmc: Bmc, request: Buffer, now: number): Buffer | null {
  const nameLength = request[27];
  if (nameLength === undefined || request.length < 28 + nameLength) return null;
  bmc.counts.rakp1++;
  const session = bmc.sessions.get(request.readUInt32LE(4));
  if (session === undefined)
    return refusal(bmc, { type: 0x13, full: 40 }, request, BAD_SESSION, NO_ID);
  const { suite } = session;
  const refuse = (status: number): Buffer =>
    refusal(bmc, { type: 0x13, full: 40 + suite.fullCode }, request, status, session.theirId);
  if (session.stage !== "opened") return again(bmc, session, () => refuse(BAD_SESSION));
  session.usedAt = now;
  const role = request.readUInt8(24);
  bmc.roles.push(role);
  const { rakp2Status, unknownUser, roleStatus, openPrivilege, wrongMacs, macLength } = bmc.options;
  if (rakp2Status !== null) return refuse(rakp2Status);
  const name = request.subarray(28, 28 + nameLength);
  session.user = userOf(bmc, name.toString());
  if (session.user === null && suite.id !== 0)
    return unknownUser === "silent" ? null : refuse(unknownUser);
  if (roleStatus !== null && (role & 0x0f) > limitOf(session.user)) return refuse(roleStatus);
  const hashed = openPrivilege ? (role & 0x10) | session.openPrivilege : role;
  session.identity = Buffer.concat([Buffer.from([hashed, nameLength]), name]);
  session.consoleRandom = Buffer.from(request.subarray(8, 24));
  session.random = Buffer.alloc(16, session.id);
  session.stage = "challenged";
  const { theirId: theirs, ourId, consoleRandom, random, identity } = session;
  const over = [theirs, ourId, consoleRandom, random, bmc.guid, identity];
  const right = code(suite, passwordOf(session.user), ...over);
  if (wrongMacs.includes(bmc.counts.rakp1)) right.fill(0xa5);
  const longer = Buffer.concat([right, Buffer.alloc(8, 1)]);
  const mac = longer.subarray(0, suite.fullCode + macLength);
  session.last = plain20(0x13, Buffer.concat([start(request, 0), theirs, random, bmc.guid, mac]));
  return session.last;
}

/** RAKP3 to RAKP4. A login that fails is forgotten at once. */
export function rakp3(bmc: Bmc, request: Buffer, now: number): Buffer | null {
  if (request.length < 8) return null;
  bmc.counts.rakp3++;
  const session = bmc.sessions.get(request.readUInt32LE(4));
  if (session === undefined)
    return refusal(bmc, { type: 0x15, full: 8 }, request, BAD_SESSION, NO_ID);
  const { suite, random, consoleRandom, identity } = session;
  const refuse = (status: number): Buffer =>
    refusal(bmc, { type: 0x15, full: 8 + suite.shortCode }, request, status, session.theirId);
  if (session.stage !== "challenged") return again(bmc, session, () => refuse(BAD_SESSION));
  session.usedAt = now;
  const password = passwordOf(session.user);
  const expected = code(suite, password, random, session.theirId, identity);
  const good = same(request.subarray(8), expected);
  if (request[1] !== 0 || !good) {
    bmc.sessions.delete(session.id);
    bmc.counts.badLogins++;
    return request[1] === 0 ? refuse(BAD_CODE) : null;
  }
  const { rakp4Status, wrongIcvs } = bmc.options;
  if (rakp4Status !== null) return refuse(rakp4Status);
  const kg = Buffer.from(bmc.options.kg, "hex");
  const secret = kg.length === 0 ? password : kg;
  session.keys = sessionKeys(suite, secret, consoleRandom, random, identity);
  session.stage = "active";
  bmc.counts.logins++;
  const check = code(suite, session.keys.session, consoleRandom, session.ourId, bmc.guid);
  if (wrongIcvs.includes(bmc.counts.rakp3)) check.fill(0xa5);
  const icv = check.subarray(0, suite.shortCode);
  session.last = plain20(0x15, Buffer.concat([start(request, 0), session.theirId, icv]));
  return session.last;
}

const NOTHING = Buffer.alloc(0);
const NO_ID = Buffer.alloc(4);

function again(bmc: Bmc, { last }: SimSession, refuse: () => Buffer): Buffer | null {
  return bmc.options.repeats === "answered" && last !== null ? last : refuse();
}

function start(request: Buffer, status: number): Buffer {
  return Buffer.from([request.readUInt8(0), status, 0, 0]);
}

/** @param full payload bytes of a good answer */
function refusal(
  bmc: Bmc,
  { type, full }: { readonly type: number; readonly full: number },
  request: Buffer,
  status: number,
  theirId: Buffer,
): Buffer {
  const length = bmc.options.errorLength ?? full;
  const payload = Buffer.alloc(Math.max(full, length));
  Buffer.concat([start(request, status), theirId]).copy(payload);
  return plain20(type, payload.subarray(0, length));
}
