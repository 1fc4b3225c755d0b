import { type Capabilities, COMMANDS, isBusy } from "./commands.ts";
import type { Talk } from "./talk.ts";
import {
  answers,
  PAYLOAD,
  parsePacket,
  parseResponse,
  plain,
  type Response,
  request,
  unwrap15,
  wrap15,
} from "./wire.ts";

/** Bytes of the suite list in one answer. A shorter answer is the last. */
const SUITES_CHUNK = 16;

/** Milliseconds after each send, before jitter. A dead BMC is known after 8.1 s. */
const WAITS = [1000, 1500, 2250, 3375];
/** The 2.0 form, which was already sent twice. */
const AGAIN_WAITS = [1000, 1500, 1500, 1500];
/** The 1.5 form, for a BMC that answered and refused the 2.0 form. */
const OTHER_WAITS = [1000, 1500];
/** Milliseconds between requests to a BMC that is busy or returns an error. */
const PAUSES = [100, 200, 400];
/** Optional. Some BMCs never answer it. Quirk Q12. */
const SUITES_WAIT = [1000];
/** Maximum parts of the list. */
const PIECES = 64;

const THIS_CHANNEL = 0x0e;
/** Requests the 2.0 fields. BMCs with 1.5 refuse it or do not answer. */
const ASK_2_0 = 0x80;
const ADMINISTRATOR = 4;

type Discovery =
  | { readonly kind: "capabilities"; readonly capabilities: Capabilities }
  /** It reports 1.5 only. */
  | { readonly kind: "only-1.5" }
  /** It answers the 1.5 form only. The answers to the 2.0 form may be lost. */
  | { readonly kind: "only-1.5-form" }
  | { readonly kind: "busy"; readonly code: number }
  /** No readable answer in either form. Code 0 means truncated. */
  | { readonly kind: "refused"; readonly code: number }
  | { readonly kind: "silent" }
  /** It answers, but the deadline came before a clear result. */
  | { readonly kind: "cut" };

/**
 * Detects a BMC and its IPMI version with Get Channel Authentication Capabilities, which needs no
 * login. Accepts wrong checksums, as ipmitool does, because UDP has its own. Retries after an error
 * code, as a conductor does, because an error does not mean that 2.0 is unsupported.
 */
export async function discover(talk: Talk): Promise<Discovery> {
  let last: Discovery | null = null;
  for (const pause of [...PAUSES, 0]) {
    const [found, lasts] = await query(talk);
    if (lasts) return found;
    const isSilent = found.kind === "silent" || found.kind === "cut";
    // After the deadline only "busy" is a result, because another request was pending.
    if (talk.expired() && found.kind !== "busy" && last?.kind !== "busy")
      return isSilent && last === null ? found : { kind: "cut" };
    // Silence does not override an earlier answer.
    if (isSilent) return last ?? found;
    last = found;
    await talk.pause(pause);
  }
  return last ?? { kind: "silent" };
}

/** Result of one attempt, and whether it is final. */
type Discovered = readonly [found: Discovery, lasts: boolean];

async function query(talk: Talk): Promise<Discovered> {
  const waits = WAITS.map((wait) => wait * (0.9 + 0.2 * talk.chance.fraction()));
  // The third send uses the 1.5 form, for BMCs that do not answer the 2.0 form.
  const first = await capabilities(talk, waits.slice(0, 1), () => true).then(async (answer) => {
    if (answer !== null) return answer;
    // Only a connected socket reports that the BMC's port is closed.
    await talk.renew();
    return capabilities(talk, waits.slice(1), (sending) => sending !== 1);
  });
  if (first === null) return [{ kind: "silent" }, false];
  const discovered = concluded(first);
  if (discovered !== null) return discovered;
  // As ipmitool: after a refusal, try the other form. If busy, repeat the same form later.
  const other = await capabilities(talk, first.for2 ? OTHER_WAITS : AGAIN_WAITS, () => !first.for2);
  const more = other === null ? null : concluded(other);
  if (more !== null) return more;
  const [two, old] = first.for2 ? [first, other] : [other, first];
  // An answer to the 1.5 form proves nothing about 2.0, whose answers may be lost.
  if (two === null && old?.code === 0)
    return talk.expired() ? [{ kind: "cut" }, false] : [{ kind: "only-1.5-form" }, true];
  if (old?.code === 0 && old.capabilities !== null) return [{ kind: "only-1.5" }, false];
  return [{ kind: "refused", code: (two ?? first).code }, false];
}

/** Final result of one answer. Null if the other form is needed. */
function concluded({ for2, code, capabilities }: Replied): Discovered | null {
  if (isBusy(code)) return [{ kind: "busy", code }, false];
  if (capabilities?.ipmi2 === true) return [{ kind: "capabilities", capabilities }, true];
  return for2 && capabilities !== null ? [{ kind: "only-1.5" }, true] : null;
}

type Replied = NonNullable<Awaited<ReturnType<typeof capabilities>>>;

function capabilities(talk: Talk, waits: readonly number[], for2: (sending: number) => boolean) {
  const sequence = (two: boolean): number => (two ? 0 : 1);
  // Ignore a duplicate answer to the other form.
  const forms = new Set(waits.map((_, sending) => for2(sending)));
  return talk.exchange(
    (sending) => {
      const channel = THIS_CHANNEL | (for2(sending) ? ASK_2_0 : 0);
      const data = [channel, ADMINISTRATOR];
      return wrap15(request(COMMANDS.capabilities, sequence(for2(sending)), data));
    },
    waits,
    (datagram) => {
      const message = unwrap15(datagram);
      const response = message === null ? null : parseResponse(message);
      if (response === null) return null;
      const two = [...forms].find((one) => answers(response, COMMANDS.capabilities, sequence(one)));
      if (two === undefined) return null;
      const { code, data } = response;
      // No capabilities with a nonzero code, and if truncated.
      return {
        for2: two,
        code,
        capabilities: code === 0 ? COMMANDS.capabilities.parse(data) : null,
      };
    },
  );
}

/** Suite numbers of the BMC. Null if it does not list them outside a session. */
export async function listSuites(talk: Talk): Promise<readonly number[] | null> {
  const pieces: Buffer[] = [];
  for (let piece = 0; piece < PIECES; piece++) {
    const data = [THIS_CHANNEL, 0x00, 0x80 | piece];
    const datagram = plain(PAYLOAD.ipmi, request(COMMANDS.suites, piece, data));
    const response = await talk.exchange(
      () => datagram,
      SUITES_WAIT,
      (reply) => suitesAnswer(reply, piece),
    );
    if (response === null || response.code !== 0) return null;
    // The channel number, then a part of the list.
    const chunk = response.data.subarray(1, 1 + SUITES_CHUNK);
    // A BMC that repeats a part ignores the index, and would never end.
    if (pieces.some((one) => one.equals(chunk))) break;
    pieces.push(chunk);
    if (chunk.length < SUITES_CHUNK) break;
  }
  return COMMANDS.suites.parse(Buffer.concat(pieces));
}

function suitesAnswer(reply: Buffer, piece: number): Response | null {
  const packet = parsePacket(reply);
  if (packet === null || packet.session !== 0 || packet.type !== PAYLOAD.ipmi) return null;
  if (packet.signed || packet.encrypted) return null;
  const response = parseResponse(packet.payload);
  if (response === null) return null;
  return answers(response, COMMANDS.suites, piece) ? response : null;
}
