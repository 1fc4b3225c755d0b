import { askPower } from "../../../src/lib/ipmi/ask.ts";
import { credentials } from "../../../src/lib/ipmi/login.ts";
import { SESSION_DEFAULTS, type SessionOptions } from "../../../src/lib/ipmi/session.ts";
import type { BmcOptions } from "../../support/bmc/options.ts";
import { LOGIN, simBmc } from "./sim-bmc.ts";
import { simChance, simClock } from "./sim-clock.ts";
import { GOOD_NETWORK, type Network, simLine } from "./sim-line.ts";

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
