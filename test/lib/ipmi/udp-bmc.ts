import { createSocket } from "node:dgram";
import { once, setMaxListeners } from "node:events";
import type { TestContext } from "node:test";
import { openClient } from "../../../src/lib/ipmi/ask.ts";
import type { BmcReading } from "../../../src/lib/ipmi/index.ts";
import { SESSION_DEFAULTS } from "../../../src/lib/ipmi/session.ts";
import { type Mux, openMux } from "../../../src/lib/ipmi/transport.ts";
import { sessionIdOf } from "../../../src/lib/ipmi/wire.ts";
import type { PowerQuestion } from "../../../src/model/power.ts";
import { CLOCK, QUICK } from "../../lab/bmc/quick-clock.ts";
import type { BmcOptions } from "../../support/bmc/options.ts";
import { LOGIN, simBmc } from "./sim.ts";

export function muxOf(t: Pick<TestContext, "after">): Mux {
  const mux = openMux();
  t.after(() => mux.close());
  return mux;
}

/** A BMC that is played, on a real socket until the test ends. */
export async function udpBmc(
  t: TestContext,
  fault: Partial<BmcOptions> = {},
  options: {
    readonly address?: string;
    /** Answers from another socket than it was asked on, as somebody else would. */
    readonly answerFrom?: string;
    /** From there only what names a session. */
    readonly onlyNamed?: boolean;
    readonly delay?: number;
  } = {},
) {
  const { address = "127.0.0.1", answerFrom, onlyNamed = false, delay = 0 } = options;
  const bmc = simBmc(fault);
  const type = address.includes(":") ? "udp6" : "udp4";
  const socket = createSocket(type).bind(0, address);
  await once(socket, "listening");
  const other = answerFrom === undefined ? socket : createSocket(type).bind(0, answerFrom);
  if (other !== socket) await once(other, "listening");
  let closed = false;
  socket.on("message", (datagram, from) => {
    const answers = bmc.receive(datagram);
    QUICK.after(delay, () => {
      for (const answer of closed ? [] : answers) {
        const sender = onlyNamed && sessionIdOf(answer) === null ? socket : other;
        sender.send(answer, from.port, from.address);
      }
    });
  });
  t.after(() => {
    closed = true;
    for (const one of new Set([socket, other])) one.close();
  });
  const { port } = socket.address();
  const { user, password } = LOGIN;
  const question: PowerQuestion = {
    bm_node_ids: [1],
    address,
    port,
    user,
    password: () => password,
  };
  return { bmc, question };
}

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
  const probe = openClient(options, CLOCK.clock, muxOf(t)).ask;
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
