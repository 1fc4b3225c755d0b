import type { Line } from "../../../src/lib/ipmi/talk.ts";
import type { SimBmc } from "./sim-bmc.ts";
import { type SimClock, simChance } from "./sim-clock.ts";

export interface Network {
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
