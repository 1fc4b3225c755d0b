import { randomInt } from "node:crypto";
import { performance } from "node:perf_hooks";
import type { PowerProbe } from "../../model/power.ts";
import { endpointOf, IPMI_PORT } from "./address.ts";
import { credentials, LONGEST_USER, wipe } from "./credentials.ts";
import type { Chance, Clock } from "./line.ts";
import type { Mux } from "./mux.ts";
import { createRandom } from "./random.ts";
import { unasked } from "./reading.ts";
import { askPower, SESSION_DEFAULTS, type SessionOptions } from "./session.ts";

export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  after: (delay, run) => {
    const timer = setTimeout(run, delay);
    return () => clearTimeout(timer);
  },
};

export const SYSTEM_CHANCE: Chance = {
  bytes: createRandom(),
  fraction: () => randomInt(2 ** 32) / 2 ** 32,
};

/** Asks BMCs by our own client. The secrets are wiped from its buffers when it has an answer. */
export function nativeProbe(mux: Mux, options: SessionOptions = SESSION_DEFAULTS): PowerProbe {
  return async (question, { deadline, signal }) => {
    signal.throwIfAborted();
    const begun = { date: SYSTEM_CLOCK.date(), client: "native" as const };
    const known = credentials(question.user, question.password(), question.kg?.() ?? null);
    if (known === null) {
      const detail = `the user name is longer than ${LONGEST_USER} bytes or holds a NUL`;
      return unasked(question, begun, { verdict: "incomplete", detail });
    }
    try {
      const endpoint = await endpointOf(question.address, question.port ?? IPMI_PORT);
      if (endpoint === null) {
        const detail = "the name of the BMC cannot be resolved";
        return unasked(question, begun, { verdict: "unreachable", detail });
      }
      const line = await mux.line(endpoint);
      try {
        const environment = { clock: SYSTEM_CLOCK, chance: SYSTEM_CHANCE };
        const answer = await askPower(line, known, environment, { deadline, signal }, options);
        const { bm_node_ids, address } = question;
        return { bm_node_ids, address, client: "native", pass: 1, ...answer };
      } finally {
        line.close();
      }
    } finally {
      wipe(known);
    }
  };
}
