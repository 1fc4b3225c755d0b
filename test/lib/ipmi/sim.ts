import { setImmediate as settled } from "node:timers/promises";
import { askPower } from "../../../src/lib/ipmi/ask.ts";
import { credentials } from "../../../src/lib/ipmi/login.ts";
import { seeded } from "../../../src/lib/ipmi/queue.ts";
import { SESSION_DEFAULTS, type SessionOptions } from "../../../src/lib/ipmi/session.ts";
import type { Chance, Line, Timers } from "../../../src/lib/ipmi/talk.ts";
import { newBmc } from "../../support/bmc/bmc.ts";
import { handle } from "../../support/bmc/handle.ts";
import {
  type BmcOptions,
  HEALTHY,
  type Privilege,
  withOptions,
} from "../../support/bmc/options.ts";

/** A clock that advances to the next timer only when no other work is left. */
export interface SimClock extends Timers {
  /** Advances the clock until `work` ends. @throws its error, or one if it waits without a timer */
  readonly run: <T>(work: Promise<T>) => Promise<T>;
}

export function simClock(): SimClock {
  let now = 0;
  let order = 0;
  let timers: { readonly at: number; readonly order: number; readonly run: () => void }[] = [];
  return {
    now: () => now,
    date: () => new Date(Date.UTC(2026, 0, 1) + now),
    after(delay, run) {
      const timer = { at: now + Math.max(0, delay), order: order++, run };
      timers.push(timer);
      return () => {
        timers = timers.filter((one) => one !== timer);
      };
    },
    async run(work) {
      let ended = false;
      const end = (): void => {
        ended = true;
      };
      work.then(end, end);
      for (;;) {
        await settled();
        if (ended) return work;
        const [next] = timers.toSorted((a, b) => a.at - b.at || a.order - b.order);
        if (next === undefined) throw new Error("the work waits without a timer");
        timers = timers.filter((one) => one !== next);
        now = next.at;
        next.run();
      }
    },
  };
}

/** Bytes and fractions that are the same for the same seed. */
export function simChance(seed: number): Chance {
  const fraction = seeded(seed);
  return {
    fraction,
    bytes: (length) => Buffer.from(Array.from({ length }, () => Math.floor(fraction() * 256))),
  };
}

export const LOGIN = { user: "admin", password: "s3cret-Passw0rd" };

const SIM = withOptions(HEALTHY, {
  ...{ power: true, suites: [3, 17], listed: [0, 3, 17], repeats: "answered" },
});

/** A BMC of the farm without its socket, healthy but for these options. @param now milliseconds */
export function simBmc(options: Partial<BmcOptions> = {}, now = () => 0) {
  const bmc = newBmc("192.0.2.1", withOptions(SIM, options), () => undefined);
  return Object.assign(bmc, {
    /** Sessions that are logged in to. */
    open: () => [...bmc.sessions.values()].filter(({ stage }) => stage === "active").length,
    /** @param port of the sender */
    receive(datagram: Buffer, port = 0): readonly Buffer[] {
      const answer = handle(bmc, datagram, now(), port);
      return answer === null ? [] : [answer];
    },
  });
}

type SimBmc = ReturnType<typeof simBmc>;

export const busy = (code: number, times: number) => ({ busy: { code, times, command: "00/01" } });

/** A highest level, and what RAKP 2 says of one above; null: nothing, it refuses the level by command. */
export const limited = (limit: Privilege, roleStatus: number | null = 9) => ({
  ...{ users: [{ name: LOGIN.user, password: LOGIN.password, limit }], roleStatus },
});

export const known = (name: string, password = "") => ({ users: [{ name, password }] });

export function hex(text: string): string {
  return Buffer.from(text).toString("hex");
}

interface Network {
  readonly loss: number;
  /** Milliseconds, each way; more by up to `jitter`, so that datagrams overtake each other. */
  readonly delay: number;
  readonly jitter: number;
  readonly duplicates: number;
}

export const GOOD_NETWORK: Network = { loss: 0, delay: 1, jitter: 0, duplicates: 0 };

/** A line to a BMC that is played, over a network that is played. */
export function simLine(
  bmc: Pick<SimBmc, "receive">,
  clock: SimClock,
  seed: number,
  network: Network,
): Line & { readonly sent: () => number } {
  const { fraction } = simChance(seed);
  let handler: ((datagram: Buffer) => void) | null = null;
  let session = 0x1000;
  let sent = 0;
  let port = 1;
  const carry = (datagram: Buffer, arrive: (datagram: Buffer) => void): void => {
    for (let copies = fraction() < network.duplicates ? 2 : 1; copies > 0; copies--) {
      if (fraction() < network.loss) continue;
      clock.after(network.delay + fraction() * network.jitter, () => arrive(Buffer.from(datagram)));
    }
  };
  return {
    send(datagram) {
      sent += 1;
      const from = port;
      carry(datagram, (arrived) => {
        for (const reply of bmc.receive(arrived, from)) carry(reply, (back) => handler?.(back));
      });
    },
    receive(next) {
      handler = next;
    },
    renew() {
      port += 1;
      return Promise.resolve();
    },
    newSession: () => ++session,
    fault: () => null,
    sent: () => sent,
  };
}

export interface Asking {
  readonly user?: string;
  readonly password?: string;
  readonly kg?: string;
  readonly seed?: number;
  /** Milliseconds; a minute unless given. */
  readonly deadline?: number;
  readonly network?: Partial<Network>;
  readonly options?: Partial<SessionOptions>;
}

/** Asks a BMC that is healthy but for `fault`, with the right credentials but for `asking`. */
export async function ask(fault: Partial<BmcOptions> = {}, asking: Asking = {}) {
  const clock = simClock();
  const bmc = simBmc(fault, clock.now);
  const seed = asking.seed ?? 1;
  const line = simLine(bmc, clock, seed, { ...GOOD_NETWORK, ...asking.network });
  const known = credentials(
    asking.user ?? LOGIN.user,
    asking.password ?? LOGIN.password,
    asking.kg === undefined ? null : Buffer.from(asking.kg),
  );
  const answer = await clock.run(
    askPower(
      line,
      known,
      { clock, chance: simChance(seed + 1000) },
      { deadline: asking.deadline ?? 60_000, signal: new AbortController().signal },
      { ...SESSION_DEFAULTS, ...asking.options },
    ),
  );
  return { answer, bmc, sent: line.sent(), took: clock.now() };
}
