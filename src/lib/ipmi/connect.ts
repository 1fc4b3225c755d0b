import { type BmcLogin, type BmcTarget, optionsFor, reach } from "./ask.ts";
import {
  type Chassis,
  COMMANDS,
  type Command,
  codeWords,
  type Device,
  parseChassis,
  parseDevice,
} from "./commands.ts";
import { wipe } from "./login.ts";
import { IpmiError, type Level } from "./policy.ts";
import { type Channel, establish, SESSION_DEFAULTS } from "./session.ts";
import {
  type Limits,
  SYSTEM_CHANCE,
  SYSTEM_CLOCK,
  startTalk,
  type Talk,
  type Timers,
} from "./talk.ts";
import { createTurns, type Mux, openMux } from "./transport.ts";

export interface ConnectOptions {
  /** 623 unless given. */
  readonly port?: number;
  /** The only cipher suite to ask for. */
  readonly suite?: number;
  /** The level to log in at first; ADMINISTRATOR unless given, then once OPERATOR. */
  readonly level?: Level;
  /** Milliseconds for the login, and for each command after it; a minute unless given. */
  readonly deadline?: number;
  readonly signal?: AbortSignal;
  readonly clock?: Timers;
}

/** An open session. A BMC forgets one that says nothing for a minute. */
export interface BmcSession {
  /** The cipher suite it was opened with. */
  readonly suite: number;
  readonly level: Level;
  /** @throws IpmiError when there is no answer or a refusal; the signal's reason when it is aborted */
  readonly chassisStatus: () => Promise<Chassis>;
  /** @throws as `chassisStatus` */
  readonly deviceId: () => Promise<Device>;
  /** Frees the BMC's slot. Nothing can be asked after it. */
  readonly close: () => Promise<void>;
}

const DEADLINE = 60_000;

/**
 * Logs in to one BMC, over a socket of its own.
 *
 * @throws IpmiError with the verdict when there is no session to be had; the signal's reason when it
 *   is aborted
 */
export async function connect(
  address: string,
  login: BmcLogin,
  {
    clock = SYSTEM_CLOCK,
    deadline = DEADLINE,
    signal = new AbortController().signal,
    ...own
  }: ConnectOptions = {},
): Promise<BmcSession> {
  signal.throwIfAborted();
  const mux = openMux(SYSTEM_CHANCE);
  try {
    return await connectOver(mux, { address, ...login, ...own }, { deadline, signal }, clock);
  } catch (error) {
    await mux.close();
    throw error;
  }
}

async function connectOver(
  mux: Mux,
  target: BmcTarget,
  limits: Limits,
  clock: Timers,
): Promise<BmcSession> {
  const begun = clock.now();
  const reached = await reach(mux, target, limits);
  if ("verdict" in reached) throw new IpmiError(reached.verdict, reached.detail);
  const { line, known } = reached;
  const talk = startTalk(line, clock, SYSTEM_CHANCE, {
    deadline: limits.deadline - (clock.now() - begun),
    signal: limits.signal,
  });
  let session: BmcSession | null = null;
  try {
    const options = optionsFor(target, SESSION_DEFAULTS);
    const { opened, diagnosis } = await establish(talk, line, known, options, keep);
    if (opened === null) throw new IpmiError(diagnosis.verdict, diagnosis.detail);
    const { suite, level, found } = opened;
    const end = async (): Promise<void> => {
      talk.end();
      await mux.close();
    };
    session = { suite, level, ...commandsOf(found, talk, limits.deadline, end) };
    return session;
  } finally {
    wipe(known);
    if (session === null) talk.end();
  }
}

/** The session is what was wanted, and stays open. */
const keep = async (channel: Channel): Promise<{ kind: "answered"; found: Channel }> => ({
  kind: "answered",
  found: channel,
});

function commandsOf(
  channel: Channel,
  talk: Talk,
  deadline: number,
  end: () => Promise<void>,
): Pick<BmcSession, "chassisStatus" | "deviceId" | "close"> {
  const turn = createTurns();
  let closed = false;
  /** One at a time: each waits for the answer to the one before it. */
  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    const endTurn = await turn("");
    try {
      talk.allow(deadline);
      return await work();
    } finally {
      endTurn();
    }
  };
  const ask = <T>(command: Command, parse: (data: Buffer) => T | null): Promise<T> =>
    inTurn(async () => {
      if (closed) throw new IpmiError(null, "the session is closed");
      const response = await channel.ask(command);
      if (response === null) throw new IpmiError("silent", `${command.name} is not answered`);
      const { code, data } = response;
      const found = code === 0 ? parse(data) : null;
      if (found === null)
        throw new IpmiError("protocol-error", `${command.name} says ${codeWords(code)}`);
      return found;
    });
  return {
    chassisStatus: () => ask(COMMANDS.chassis, parseChassis),
    deviceId: () => ask(COMMANDS.device, parseDevice),
    close: () =>
      inTurn(async () => {
        if (closed) return;
        closed = true;
        await channel.close();
        await end();
      }),
  };
}
