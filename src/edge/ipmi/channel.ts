import { DUPLICATE, isTryAgain } from "./codes.ts";
import { COMMANDS } from "./commands.ts";
import type { Session } from "./login.ts";
import { answers, type Command, parseResponse, type Response, request } from "./message.ts";
import { open, PAYLOAD, parsePacket, seal } from "./rmcpplus.ts";
import { sessionNamed } from "./route.ts";
import type { Talk } from "./talk.ts";

/** Commands in an open session. */
export interface Channel {
  /** Null when no answer came; a busy BMC is asked again after a pause, a few times. */
  readonly ask: (
    command: Command,
    data?: readonly number[],
    waits?: readonly number[],
  ) => Promise<Response | null>;
  /** Whether an answer had wrong checksums. */
  readonly checksumsWrong: () => boolean;
  /**
   * Frees the slot: sent twice at most, half a second each, its answer not looked at. It is done
   * even when all is to stop: a session left open takes a slot from the conductor.
   */
  readonly close: () => Promise<void>;
  /** The same without waiting, when no time is left or nobody knows whether it is open. */
  readonly leave: () => void;
}

/** Milliseconds after each sending. A session is dear: it is given up after more losses than a login. */
const WAITS = [1000, 1500, 2250, 2250, 2250, 3375];
const BUSY_PAUSES = [100, 200, 400];
const CLOSE_WAITS = [500, 500];

export function openChannel(talk: Talk, session: Omit<Session, "kind">): Channel {
  const { suite, keys, ours, theirs } = session;
  let sequence = 0;
  let rqSeq = 0;
  let checksumsWrong = false;

  const sealed = (message: Buffer): Buffer => {
    // Counts every sending, resends included; 0 stands for "no session" and is skipped.
    sequence = sequence === 0xffffffff ? 1 : sequence + 1;
    const iv = suite.encrypted ? talk.chance.bytes(16) : Buffer.alloc(0);
    return seal({ suite, keys, session: theirs }, sequence, message, iv);
  };

  const answerIn = (datagram: Buffer, command: Command, wanted: number): Response | null => {
    const packet = parsePacket(datagram);
    if (packet === null || packet.session !== ours || packet.type !== PAYLOAD.ipmi) return null;
    const message = open(suite, keys, packet);
    const response = message === null ? null : parseResponse(message);
    if (response === null || !answers(response, command, wanted)) return null;
    if (response.code === DUPLICATE) return null;
    if (!response.checksumsGood) checksumsWrong = true;
    return response;
  };

  const once = (
    command: Command,
    data: readonly number[],
    waits: readonly number[],
  ): Promise<Response | null> => {
    rqSeq = (rqSeq + 1) & 0x3f;
    const wanted = rqSeq;
    const message = request(command, wanted, data);
    return talk.exchange(
      () => sealed(message),
      waits,
      (datagram) => answerIn(datagram, command, wanted),
    );
  };

  const number = [0, 8, 16, 24].map((shift) => (theirs >>> shift) & 0xff);
  const closing = (): Buffer => {
    rqSeq = (rqSeq + 1) & 0x3f;
    return sealed(request(COMMANDS.close, rqSeq, number));
  };
  const leave = (): void => talk.tell(closing());
  return {
    leave,
    async ask(command, data = [], waits = WAITS) {
      let busy: Response | null = null;
      for (const pause of [...BUSY_PAUSES, null]) {
        const response = await once(command, data, waits);
        // A wait that the deadline cuts short takes nothing back that was said before.
        if (response === null) return talk.expired() ? busy : null;
        if (pause === null || !isTryAgain(response.code)) return response;
        busy = response;
        await talk.pause(pause);
      }
      return busy;
    },
    checksumsWrong: () => checksumsWrong,
    async close() {
      if (talk.expired()) return leave();
      // What it says changes nothing, so it is not opened: whoever sends it can end this wait only.
      await talk.exchange(
        closing,
        CLOSE_WAITS,
        (reply) => sessionNamed(reply) === ours || null,
        true,
      );
    },
  };
}
