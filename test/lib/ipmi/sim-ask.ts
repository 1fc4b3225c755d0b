import { askPower } from "../../../src/lib/ipmi/ask.ts";
import { credentials } from "../../../src/lib/ipmi/login.ts";
import { SESSION_DEFAULTS, type SessionOptions } from "../../../src/lib/ipmi/session.ts";
import { type SimBmc, simBmc } from "./sim-bmc.ts";
import { simChance, simClock } from "./sim-clock.ts";
import { GOOD_NETWORK, type Network, simLine } from "./sim-line.ts";
import { HEALTHY, type Nature } from "./sim-nature.ts";

type PowerAnswer = Awaited<ReturnType<typeof askPower>>;

export interface Queried {
  readonly answer: PowerAnswer;
  readonly bmc: SimBmc;
  readonly sent: number;
  readonly took: number;
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

/** Asks a BMC that is healthy but for `nature`, with the right credentials but for `asking`. */
export async function ask(nature: Partial<Nature> = {}, asking: Asking = {}): Promise<Queried> {
  const clock = simClock();
  const bmc = simBmc({ ...HEALTHY, ...nature });
  const seed = asking.seed ?? 1;
  const line = simLine(bmc, clock, seed, { ...GOOD_NETWORK, ...asking.network });
  const known = credentials(
    asking.user ?? HEALTHY.user,
    asking.password ?? HEALTHY.password,
    asking.kg === undefined ? null : Buffer.from(asking.kg),
  );
  if (known === null) throw new Error("this user name cannot be used");
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
