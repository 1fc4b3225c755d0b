import { on } from "node:events";
import { bound } from "../../support/bmc/addresses.ts";
import type { BmcPlace } from "../../support/bmc/index.ts";
import { bmcAt } from "./here.ts";
import { QUICK } from "./quick-clock.ts";

/** A datagram that came, from which port, and how many milliseconds after the last one was sent. */
export interface Came {
  readonly port: number;
  readonly bytes: Buffer;
  readonly after: number;
}

/** Get Channel Authentication Capabilities, asking for 2.0 data, written out by hand. */
export const CAPABILITIES = hex("0600ff07 00 00000000 00000000 09 2018c8 8104388e04b1");
/** Get Channel Cipher Suites, from the first, outside a session. */
export const CIPHER_SUITES = hex("0600ff07 06 00 00000000 00000000 0a00 2018c8 8108540e008095");
const PING = hex("0600ff06 000011be 80 2a 00 00");

/** Open Session with tag 7, the console's id aabbccdd, no level. @param suite its three algorithms */
export function openSession(suite: readonly [number, number, number]): Buffer {
  const records = suite.map((algorithm, at) => [at, 0, 0, 8, algorithm, 0, 0, 0]);
  const payload = Buffer.from([7, 0, 0, 0, 0xaa, 0xbb, 0xcc, 0xdd, ...records.flat()]);
  return Buffer.concat([hex("0600ff07 06 10 00000000 00000000 2000"), payload]);
}

/**
 * Sends these datagrams from one new socket, and gives the first answers.
 * @param to an address: of a BMC that is simulated here, or with port 623
 * @param count of answers: as many as datagrams, unless given
 */
export async function answered(
  to: string | BmcPlace,
  datagrams: readonly Buffer[],
  count = datagrams.length,
  signal?: AbortSignal,
): Promise<readonly Came[]> {
  const named = typeof to === "string" ? (bmcAt(to) ?? { address: to, port: 623 }) : to;
  const socket = await bound("127.0.0.1", 0);
  const came: Came[] = [];
  try {
    for (const datagram of datagrams) socket.send(datagram, named.port, named.address);
    const sent = QUICK.now();
    for await (const [bytes, { port }] of on(socket, "message", { signal })) {
      came.push({ port, bytes, after: QUICK.now() - sent });
      if (came.length >= count) break;
    }
    return came;
  } finally {
    socket.close();
  }
}

/** Whether any kind of IPMI answer comes within 200 ms. */
export async function answersPing(address: string): Promise<boolean> {
  const asked = answered(address, [PING, CAPABILITIES], 1, AbortSignal.timeout(200));
  return asked.then(
    () => true,
    () => false,
  );
}

export function payloadOf(came: Came | undefined): Buffer {
  if (came === undefined) throw new Error("nothing came");
  return came.bytes.subarray(16, 16 + came.bytes.readUInt16LE(14));
}

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(" ", ""), "hex");
}
