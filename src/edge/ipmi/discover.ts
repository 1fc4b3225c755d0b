import {
  type Capabilities,
  COMMANDS,
  isBusy,
  parseCapabilities,
  parseSuites,
  SUITES_CHUNK,
  suitesChunk,
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
/** Milliseconds between questions to one that is busy. */
const BUSY_PAUSES = [100, 200, 400];
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
  | { readonly kind: "silent" }
  /** It answers, and time was over before it said enough. */
  | { readonly kind: "cut" };

/**
 * Whether the BMC is there, and what it speaks: Get Channel Authentication Capabilities, which may
 * be asked by anybody and any number of times. Wrong checksums are let pass, as ipmitool does: UDP
 * has its own.
 */
export async function discover(talk: Talk): Promise<Discovery> {
  let busy: Discovery | null = null;
  for (const pause of [...BUSY_PAUSES, 0]) {
    const found = await look(talk);
    const cut = found.kind === "silent" || found.kind === "cut";
    if (found.kind !== "busy") return (cut && talk.expired() ? busy : null) ?? found;
    busy = found;
    await talk.pause(pause);
  }
  return busy ?? look(talk);
}

async function look(talk: Talk): Promise<Discovery> {
  const waits = WAITS.map((wait) => wait * (0.9 + 0.2 * talk.chance.fraction()));
  // The third sending is in 1.5's form, for those who stay silent at 2.0's.
  const first = await capabilities(talk, waits.slice(0, 1), () => true).then(async (answer) => {
    if (answer !== null) return answer;
    // Only from a port of our own do we hear that the BMC's is closed.
    await talk.renew();
    return capabilities(talk, waits.slice(1), (sending) => sending !== 1);
  });
  if (first === null) return { kind: "silent" };
  if (isBusy(first.code)) return { kind: "busy", code: first.code };
  if (first.code === 0 && first.for2) return parsed(first.response);
  // An answer to 1.5's form tells nothing of 2.0: the ones to 2.0's form may have been lost.
  const second = first.for2 ? null : await capabilities(talk, AGAIN_WAITS, () => true);
  if (second === null && !first.for2) return { kind: talk.expired() ? "cut" : "only-1.5-form" };
  if (second !== null && isBusy(second.code)) return { kind: "busy", code: second.code };
  return second?.code === 0 ? parsed(second.response) : { kind: "only-1.5" };
}

function parsed({ data }: Response): Discovery {
  const capabilities = parseCapabilities(data);
  return capabilities === null || !capabilities.ipmi2
    ? { kind: "only-1.5" }
    : { kind: "capabilities", capabilities };
}

interface Replied {
  readonly for2: boolean;
  readonly code: number;
  readonly response: Response;
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
      return two === undefined ? null : { for2: two, code: response.code, response };
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
    const chunk = suitesChunk(response.data);
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
