import { type BmcLogin, type BmcTarget, openLine, optionsFor } from "./ask.ts";
import { COMMANDS, type Command, codeText } from "./commands.ts";
import { wipe } from "./login.ts";
import { IpmiError } from "./policy.ts";
import { type Channel, establish, SESSION_DEFAULTS } from "./session.ts";
import {
  type Limits,
  SYSTEM_CHANCE,
  SYSTEM_CLOCK,
  startTalk,
  type Talk,
  type Timers,
} from "./talk.ts";
import { openMux } from "./transport.ts";

export interface ConnectOptions
  extends Pick<BmcTarget, "port" | "suite" | "level">,
    Partial<Pick<Limits, "signal">> {
  /** Milliseconds for the login, and for each later command. Default 60,000. */
  readonly deadline?: number;
  readonly clock?: Timers;
}

/** An open session. A BMC closes it after a minute without commands. */
export type BmcSession = Readonly<Awaited<ReturnType<typeof connect>>>;

const DEADLINE = 60_000;

/**
 * Logs in to one BMC over a socket of its own.
 * @throws IpmiError with the verdict if the login fails, or the signal's reason if aborted
 */
export async function connect(
  address: string,
  login: BmcLogin,
  {
    clock = SYSTEM_CLOCK,
    deadline = DEADLINE,
    signal = new AbortController().signal,
    ...settings
  }: ConnectOptions = {},
) {
  signal.throwIfAborted();
  const startedAt = clock.now();
  const target = { address, ...login, ...settings };
  const mux = openMux();
  let talk: Talk | null = null;
  const end = async (): Promise<void> => {
    talk?.end();
    await mux.close();
  };
  try {
    const reached = await openLine(mux, target, { deadline, signal });
    if ("verdict" in reached) throw new IpmiError(reached.verdict, reached.detail);
    const { line, secrets } = reached;
    const remaining = deadline - (clock.now() - startedAt);
    talk = startTalk(line, clock, SYSTEM_CHANCE, { deadline: remaining, signal });
    const options = optionsFor(target, SESSION_DEFAULTS);
    const establishing = establish(talk, line, secrets, options, keep);
    const { opened, diagnosis } = await establishing.finally(() => wipe(secrets));
    if (opened === null) throw new IpmiError(diagnosis.verdict, diagnosis.detail);
    const { suite, level, found } = opened;
    return { suite, level, ...commandsOf(found, talk, deadline, end) };
  } catch (error) {
    await end();
    throw error;
  }
}

/** Keeps the session open. */
const keep = async (channel: Channel): Promise<{ kind: "answered"; found: Channel }> => ({
  kind: "answered",
  found: channel,
});

function commandsOf(channel: Channel, talk: Talk, deadline: number, end: () => Promise<void>) {
  let last: Promise<unknown> = Promise.resolve();
  let closed = false;
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = last.then(() => {
      talk.allow(deadline);
      return work();
    });
    last = mine.catch(() => undefined);
    return mine;
  };
  const ask = <T>(command: Command, parse: (data: Buffer) => T | null): Promise<T> =>
    inTurn(async () => {
      if (closed) throw new IpmiError(null, "the session is closed");
      const response = await channel.ask(command);
      if (response === null) throw new IpmiError("silent", `no answer to ${command.name}`);
      const { code, data } = response;
      const found = code === 0 ? parse(data) : null;
      if (found === null)
        throw new IpmiError("protocol-error", `${command.name} returned ${codeText(code)}`);
      return found;
    });
  return {
    /** @throws IpmiError without a valid answer, or the signal's reason if aborted */
    chassisStatus: () => ask(COMMANDS.chassis, COMMANDS.chassis.parse),
    /** @throws as `chassisStatus` */
    deviceId: () => ask(COMMANDS.device, COMMANDS.device.parse),
    /** Frees the BMC's session slot. Later commands fail. */
    close: () =>
      inTurn(async () => {
        if (closed) return;
        closed = true;
        await channel.close();
        await end();
      }),
  };
}
