import {
  type Keys,
  type Rakp,
  rakp2Mac,
  rakp3Mac,
  rakp4Icv,
  type Suite,
  sessionKeys,
  suiteOf,
} from "../../../src/lib/ipmi/crypto.ts";
import { PAYLOAD, type Packet, plain } from "../../../src/lib/ipmi/wire.ts";
import type { Nature } from "./sim-nature.ts";

export interface SimSession {
  readonly suite: Suite;
  readonly keys: Keys;
  readonly console: number;
}

type Draft = { -readonly [key in keyof Rakp]: Rakp[key] } & {
  openLevel: number;
  answered: boolean;
};

const NOTHING = Buffer.alloc(0);

export function simLogins(nature: Nature) {
  const drafts = new Map<number, Draft>();
  const sessions = new Map<number, SimSession>();
  const seen = new Map<number, number>();
  const roles: number[] = [];
  let lastId = 0x200;
  let refusals = 0;

  const says = (type: number, tag: number, status: number, console: Buffer): Buffer =>
    plain(
      type,
      nature.short
        ? Buffer.from([tag, status])
        : Buffer.concat([Buffer.from([tag, status, 0, 0]), console]),
    );
  const agrees = (type: number, tag: number, console: Buffer, rest: readonly Buffer[]): Buffer =>
    plain(type, Buffer.concat([Buffer.from([tag, 0, 0, 0]), console, ...rest]));

  const openSession = ({ payload }: Packet): readonly Buffer[] => {
    const [tag = 0, level = 0] = payload;
    const console = Buffer.from(payload.subarray(4, 8));
    const algorithms = [12, 20, 28].map((at) => payload[at] ?? -1);
    const suite = nature.suites
      .map(suiteOf)
      .find((one) => one?.algorithms.every((each, at) => each === algorithms[at]));
    if (nature.openStatus !== null && refusals < nature.openTimes) {
      refusals += 1;
      return [says(PAYLOAD.openResponse, tag, nature.openStatus, console)];
    }
    if (suite === undefined || suite === null)
      return [says(PAYLOAD.openResponse, tag, nature.suiteStatus, console)];
    const bmcSession = Buffer.alloc(4);
    bmcSession.writeUInt32LE(++lastId);
    drafts.set(lastId, {
      suite,
      consoleSession: console,
      bmcSession,
      role: 0,
      user: NOTHING,
      password: Buffer.from(nature.password),
      kg: nature.kg === null ? null : Buffer.from(nature.kg),
      consoleRandom: NOTHING,
      bmcRandom: Buffer.alloc(16, lastId & 0xff),
      guid: Buffer.alloc(16, 9),
      openLevel: level,
      answered: false,
    });
    const records = payload.subarray(8, 32);
    return [agrees(PAYLOAD.openResponse, tag, console, [bmcSession, records])];
  };

  const rakp1 = ({ payload }: Packet): readonly Buffer[] => {
    const tag = payload.readUInt8(0);
    const draft = drafts.get(payload.readUInt32LE(4));
    if (draft === undefined) return [];
    const refuse = (status: number): Buffer[] => [
      says(PAYLOAD.rakp2, tag, status, draft.consoleSession),
    ];
    if (nature.stale && draft.answered) return refuse(0x02);
    draft.answered = true;
    const role = payload.readUInt8(24);
    roles.push(role);
    draft.consoleRandom = Buffer.from(payload.subarray(8, 24));
    draft.user = Buffer.from(payload.subarray(28, 28 + payload.readUInt8(27)));
    draft.role = nature.openLevel ? draft.openLevel | 0x10 : role;
    if (nature.rakp2Status !== null) return refuse(nature.rakp2Status);
    if (draft.user.toString() !== nature.user)
      return nature.silentUser ? [] : refuse(nature.unknownStatus);
    if ((role & 0x0f) > nature.level && nature.levelAt === "RAKP 2") return refuse(0x09);
    const right = rakp2Mac(draft);
    if (nature.wrongMacs.includes(seen.get(PAYLOAD.rakp1) ?? 0)) right.fill(0xa5);
    const whole = Buffer.concat([right, Buffer.alloc(8, 1)]);
    const mac = whole.subarray(0, draft.suite.macLength + nature.macLength);
    const rest = [draft.bmcRandom, draft.guid, mac];
    return [agrees(PAYLOAD.rakp2, tag, draft.consoleSession, rest)];
  };

  const rakp3 = ({ payload }: Packet): readonly Buffer[] => {
    const tag = payload.readUInt8(0);
    const id = payload.readUInt32LE(4);
    const draft = drafts.get(id);
    if (draft === undefined) return [];
    const proven = payload.subarray(8).equals(rakp3Mac(draft));
    const status = nature.rakp4Status ?? (proven ? 0 : 0x0f);
    if (status !== 0) return [says(PAYLOAD.rakp4, tag, status, draft.consoleSession)];
    const keys = sessionKeys(draft);
    const console = draft.consoleSession.readUInt32LE();
    sessions.set(id, { suite: draft.suite, keys, console });
    const icv = Buffer.from(rakp4Icv(draft, keys));
    if (nature.wrongIcvs.includes(seen.get(PAYLOAD.rakp3) ?? 0)) icv.fill(0xa5);
    return [agrees(PAYLOAD.rakp4, tag, draft.consoleSession, [icv])];
  };

  return {
    answer(packet: Packet): readonly Buffer[] {
      seen.set(packet.type, (seen.get(packet.type) ?? 0) + 1);
      if (packet.type === PAYLOAD.openRequest) return openSession(packet);
      return packet.type === PAYLOAD.rakp1 ? rakp1(packet) : rakp3(packet);
    },
    session: (id: number) => sessions.get(id) ?? null,
    close: (id: number) => void sessions.delete(id),
    seen: (type: number) => seen.get(type) ?? 0,
    open: () => sessions.size,
    roles: () => roles,
  };
}
