import { type Bmc, limitOf, type SimSession } from "./bmc.ts";
import { suiteRecords } from "./crypto.ts";
import type { SimAnswer, SimRequest } from "./packet.ts";

const OK = 0x00;
/** Get Device ID, after the completion code. */
const DEVICE = Buffer.from("2001050302bf911200020f00000000", "hex");
const UNKNOWN_COMMAND = 0xc1;
const BAD_LENGTH = 0xc7;
const BAD_FIELD = 0xcc;
const NO_PRIVILEGE = 0xd4;

/** A command in nobody's session. */
export function openCommand(bmc: Bmc, request: SimRequest): SimAnswer {
  switch (nameOf(request)) {
    case "06/38":
      return authCapabilities(bmc, request.data);
    case "06/54":
      return cipherSuites(bmc, request.data);
    case "06/37":
      return [OK, ...bmc.guid];
    default:
      return bmc.onOther(bmc, null, request) ?? [NO_PRIVILEGE];
  }
}

/** A command in a session. Close Session also ends it. Nothing here changes the machine. */
export function sessionCommand(bmc: Bmc, session: SimSession, request: SimRequest): SimAnswer {
  const name = nameOf(request);
  bmc.seen.push(name);
  const { busy, deviceSilent } = bmc.options;
  if (busy !== null && busy.command === name && bmc.busyLeft > 0) {
    bmc.busyLeft--;
    return [busy.code];
  }
  switch (name) {
    case "06/01":
      return deviceSilent ? null : [OK, ...DEVICE];
    case "06/37":
      return [OK, ...bmc.guid];
    case "06/38":
      return authCapabilities(bmc, request.data);
    case "06/54":
      return cipherSuites(bmc, request.data);
    case "06/3b":
      return setPrivilege(session, request.data);
    case "06/3c":
      return closeSession(bmc, session, request.data);
    case "00/01":
      return chassisStatus(bmc);
    default:
      return bmc.onOther(bmc, session, request) ?? [UNKNOWN_COMMAND];
  }
}

/** As options name it: "00/01" is Get Chassis Status. */
export function nameOf({ netFn, command }: SimRequest): string {
  return [netFn, command].map((byte) => byte.toString(16).padStart(2, "0")).join("/");
}

function authCapabilities(bmc: Bmc, data: Buffer): SimAnswer {
  const { options, counts } = bmc;
  const [channel, privilege] = data;
  if (channel === undefined || privilege === undefined) return [BAD_LENGTH];
  bmc.isSilent = false;
  const extended = (channel & 0x80) !== 0;
  const odd = counts.capabilities++ < options.formTimes;
  const form = odd ? options[extended ? "form2" : "form15"] : "answers";
  if (form === "silent") return null;
  if (form === "cut") return [OK, 0x01];
  if (typeof form === "number") return [form];
  const version2 = options.version2 && (extended || form === "has 2.0 bits");
  // Of sessions of 1.5 it says that it has those with MD5.
  const types = version2 ? 0x84 : 0x04;
  const nullUser = options.users.find(({ name }) => name === "");
  const status =
    (options.users.some(({ name }) => name !== "") ? 0x04 : 0) |
    (nullUser === undefined ? 0 : nullUser.password === "" ? 0x01 : 0x02) |
    (options.kg === "" || !version2 ? 0 : 0x20);
  const versions = version2 ? 0x03 : 0;
  return [OK, 0x01, types, status, versions, 0, 0, 0, 0];
}

function cipherSuites(bmc: Bmc, data: Buffer): SimAnswer {
  const { suites, listed, listRepeats, silent54, silentAfterList } = bmc.options;
  const index = data[2];
  if (index === undefined) return [BAD_LENGTH];
  bmc.counts.lists++;
  bmc.isSilent = silentAfterList;
  if (silent54) return null;
  const at = listRepeats ? 0 : (index & 0x3f) * 16;
  return [OK, 0x01, ...suiteRecords(listed ?? suites).subarray(at, at + 16)];
}

function setPrivilege(session: SimSession, data: Buffer): SimAnswer {
  const wanted = data[0];
  if (wanted === undefined) return [BAD_LENGTH];
  if (wanted > 4) return [BAD_FIELD];
  if (wanted > limitOf(session.user)) return [0x81];
  if (wanted !== 0) session.privilege = wanted;
  return [OK, session.privilege];
}

function closeSession(bmc: Bmc, { id }: SimSession, data: Buffer): SimAnswer {
  if (data.length < 4) return [BAD_LENGTH];
  if (data.readUInt32LE(0) !== id) return [0x87];
  bmc.sessions.delete(id);
  bmc.counts.closes++;
  return [OK];
}

function chassisStatus(bmc: Bmc): SimAnswer {
  bmc.counts.statusReads++;
  const state = (bmc.power ? 0x01 : 0) | bmc.options.chassisFlags;
  return [OK, ...[state, 0, 0, 0].slice(0, bmc.options.statusLength)];
}
