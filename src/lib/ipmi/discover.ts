import {
  type Capabilities,
  COMMANDS,
  isBusy,
  parseCapabilities,
  parseSuites,
  SUITES_CHUNK,
} from "./commands.ts";
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

/** Milliseconds after each sending, before jitter: a dead BMC is known after 8.1 s. */
const WAITS = [1000, 1500, 2250, 3375];
/** Whether it speaks 2.0 was asked twice before. */
const AGAIN_WAITS = [1000, 1500, 1500, 1500];
/** 1.5's form to one that refuses 2.0's: it answered just now. */
const OTHER_WAITS = [1000, 1500];
/** Milliseconds between questions to one that is busy, or says an error. */
const PAUSES = [100, 200, 400];
/** Optional, and some never answer it. Quirk Q12. */
const SUITES_WAIT = [1000];
/** The list has at most 64 pieces. */
const PIECES = 64;

const THIS_CHANNEL = 0x0e;
/** Asks for the 2.0 fields; BMCs of 1.5 refuse it or stay silent. */
const WANT_2_0 = 0x80;
const ADMINISTRATOR = 4;

type Discovery =
  | { readonly kind: "capabilities"; readonly capabilities: Capabilities }
  /** It says so. */
  | { readonly kind: "only-1.5" }
  /** It answers 1.5's form and was silent to 2.0's, which may have been lost. */
  | { readonly kind: "only-1.5-form" }
  | { readonly kind: "busy"; readonly code: number }
  /** No form of the question has an answer that can be read: the code says why, 0 that it is cut short. */
  | { readonly kind: "refused"; readonly code: number }
  | { readonly kind: "silent" }
  /** It answers, and time was over before it said enough. */
  | { readonly kind: "cut" };

/**
 * Whether the BMC is there, and what it speaks: Get Channel Authentication Capabilities, which may
 * be asked by anybody and any number of times. Wrong checksums are let pass, as ipmitool does: UDP
 * has its own. An error is no word on 2.0, and a conductor asks again after each: so it is here.
 */
export async function discover(talk: Talk): Promise<Discovery> {
  let last: Discovery | null = null;
  for (const pause of [...PAUSES, 0]) {
    const { found, lasts } = await look(talk);
    if (lasts) return found;
    const isSilent = found.kind === "silent" || found.kind === "cut";
    // Only that it is busy outlives the deadline: another question was still to be asked.
    if (talk.expired() && found.kind !== "busy" && last?.kind !== "busy")
      return isSilent && last === null ? found : { kind: "cut" };
    // Silence takes nothing back that was said before.
    if (isSilent) return last ?? found;
    last = found;
    await talk.pause(pause);
  }
  return last ?? { kind: "silent" };
}

/** What one look at it shows, and whether another one at once cannot show more. */
interface Seen {
  readonly found: Discovery;
  readonly lasts: boolean;
}

async function look(talk: Talk): Promise<Seen> {
  const waits = WAITS.map((wait) => wait * (0.9 + 0.2 * talk.chance.fraction()));
  // The third sending is in 1.5's form, for those who stay silent at 2.0's.
  const first = await capabilities(talk, waits.slice(0, 1), () => true).then(async (answer) => {
    if (answer !== null) return answer;
    // Only from a port of our own do we hear that the BMC's is closed.
    await talk.renew();
    return capabilities(talk, waits.slice(1), (sending) => sending !== 1);
  });
  if (first === null) return { found: { kind: "silent" }, lasts: false };
  const told = saysEnough(first);
  if (told !== null) return told;
  // As ipmitool: who refuses one form is asked in the other. A busy one is asked the same later.
  const other = await capabilities(talk, first.for2 ? OTHER_WAITS : AGAIN_WAITS, () => !first.for2);
  const more = other === null ? null : saysEnough(other);
  if (more !== null) return more;
  const [two, old] = first.for2 ? [first, other] : [other, first];
  // The answer to 1.5's form tells nothing of 2.0: the ones to 2.0's form may have been lost.
  if (two === null && old?.code === 0)
    return { found: { kind: talk.expired() ? "cut" : "only-1.5-form" }, lasts: !talk.expired() };
  const found: Discovery =
    old?.code === 0 && old.capabilities !== null
      ? { kind: "only-1.5" }
      : { kind: "refused", code: (two ?? first).code };
  return { found, lasts: false };
}

/** What an answer says for good, whatever the other form would bring; null: the other form is to be asked. */
function saysEnough({ for2, code, capabilities }: Replied): Seen | null {
  if (isBusy(code)) return { found: { kind: "busy", code }, lasts: false };
  if (capabilities?.ipmi2 === true)
    return { found: { kind: "capabilities", capabilities }, lasts: true };
  return for2 && capabilities !== null ? { found: { kind: "only-1.5" }, lasts: true } : null;
}

interface Replied {
  readonly for2: boolean;
  readonly code: number;
  /** Null with a code that is not 0, and when they are cut short. */
  readonly capabilities: Capabilities | null;
}

function capabilities(
  talk: Talk,
  waits: readonly number[],
  for2: (sending: number) => boolean,
): Promise<Replied | null> {
  const sequence = (two: boolean): number => (two ? 0 : 1);
  // The answer to another form, come twice, is no answer to what is asked now.
  const forms = new Set(waits.map((_, sending) => for2(sending)));
  return talk.exchange<Replied>(
    (sending) => {
      const channel = THIS_CHANNEL | (for2(sending) ? WANT_2_0 : 0);
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
      return { for2: two, code, capabilities: code === 0 ? parseCapabilities(data) : null };
    },
  );
}

/** The numbers of the BMC's suites; null when it does not tell them outside a session. */
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
    // The channel comes first, then a piece of the list.
    const chunk = response.data.subarray(1, 1 + SUITES_CHUNK);
    // Whoever says the same piece again does not look at its number, and would never end.
    if (pieces.some((one) => one.equals(chunk))) break;
    pieces.push(chunk);
    if (chunk.length < SUITES_CHUNK) break;
  }
  return parseSuites(Buffer.concat(pieces));
}

function suitesAnswer(reply: Buffer, piece: number): Response | null {
  const packet = parsePacket(reply);
  if (packet === null || packet.session !== 0 || packet.type !== PAYLOAD.ipmi) return null;
  if (packet.signed || packet.encrypted) return null;
  const response = parseResponse(packet.payload);
  if (response === null) return null;
  return answers(response, COMMANDS.suites, piece) ? response : null;
}
