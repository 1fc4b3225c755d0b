import { setMaxListeners } from "node:events";
import type { TestContext } from "node:test";
import { askOver } from "../../../src/lib/ipmi/ask.ts";
import type { BmcReading } from "../../../src/lib/ipmi/index.ts";
import { SESSION_DEFAULTS } from "../../../src/lib/ipmi/session.ts";
import { CLOCK } from "../../lab/bmc/quick-clock.ts";
import { muxOf } from "./udp-bmc.ts";

/** Milliseconds; what the conductor gives a BMC. */
const DEADLINE = 60_000;

export interface Queried {
  readonly address: string;
  readonly port?: number;
  readonly user?: string;
  readonly password?: string;
  readonly kg?: string;
}

/**
 * Asks all of these BMCs at once, as the tool does; readings are in their order.
 * @param suites that are tried; the tool's own unless given
 */
export async function askAllOf(
  t: Pick<TestContext, "after">,
  asked: readonly Queried[],
  suites: readonly number[] | null = null,
): Promise<readonly BmcReading[]> {
  const options = suites ? { ...SESSION_DEFAULTS, suites: () => suites } : SESSION_DEFAULTS;
  const probe = askOver(muxOf(t), options, CLOCK.clock);
  const { signal } = new AbortController();
  // Each BMC listens to it.
  setMaxListeners(0, signal);
  return Promise.all(
    asked.map(({ address, port = 623, user = "admin", password = "s3cret-Passw0rd", kg }) =>
      probe(
        {
          ...{ address, port, user, password: () => password },
          ...(kg !== undefined && { kg: () => Buffer.from(kg) }),
        },
        { deadline: DEADLINE, signal },
      ),
    ),
  );
}

export async function askOne(
  t: Pick<TestContext, "after">,
  asked: Queried,
  suites: readonly number[] | null = null,
): Promise<BmcReading> {
  const [reading] = await askAllOf(t, [asked], suites);
  if (reading === undefined) throw new Error("there is no reading");
  return reading;
}
