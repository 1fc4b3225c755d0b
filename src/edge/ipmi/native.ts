import { randomInt } from "node:crypto";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { PowerProbe } from "../../model/power.ts";
import { endpointAt, endpointOf, IPMI_PORT, mayBeOne, NOT_ONE } from "./address.ts";
import { credentials, LONGEST_USER, wipe } from "./credentials.ts";
import type { Chance, Clock } from "./line.ts";
import type { Mux } from "./mux.ts";
import { createRandom } from "./random.ts";
import { unasked } from "./reading.ts";
import { askPower, SESSION_DEFAULTS, type SessionOptions } from "./session.ts";

/** Node keeps a list of timers for each length, and sorts the lists: a fleet shares a few. */
function coarse(delay: number): number {
  return delay < COARSE ? delay : Math.ceil(delay / COARSE) * COARSE;
}
const COARSE = 50;

export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  date: () => new Date(),
  after: (delay, run) => {
    const timer = setTimeout(run, coarse(delay));
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
    const start = SYSTEM_CLOCK.now();
    try {
      const { address, port = IPMI_PORT } = question;
      const endpoint =
        endpointAt(address, port) ?? (await within(endpointOf(address, port), deadline, signal));
      if (endpoint === null) {
        const detail = "the name of the BMC cannot be resolved";
        const elapsed = Math.round(SYSTEM_CLOCK.now() - start);
        return { ...unasked(question, begun, { verdict: "unreachable", detail }), elapsed };
      }
      if (!mayBeOne(endpoint.address))
        return unasked(question, begun, { verdict: "incomplete", detail: NOT_ONE });
      const line = await mux.line(endpoint);
      try {
        const environment = { clock: SYSTEM_CLOCK, chance: SYSTEM_CHANCE };
        const left = deadline - (SYSTEM_CLOCK.now() - start);
        const limits = { deadline: left, signal };
        const answer = await askPower(line, known, environment, limits, {
          ...options,
          ...(question.suite !== undefined && { suites: [question.suite] }),
          ...(question.level !== undefined && { level: question.level }),
        });
        return { bm_node_ids: question.bm_node_ids, address, client: "native", pass: 1, ...answer };
      } finally {
        line.close();
      }
    } finally {
      wipe(known);
    }
  };
}

/**
 * What `asked` gives, or null when that takes longer than `delay` milliseconds: a resolver may take
 * minutes, and cannot be told to stop.
 *
 * @throws the signal's reason when it is aborted
 */
async function within<T>(asked: Promise<T>, delay: number, signal: AbortSignal): Promise<T | null> {
  const stop = new AbortController();
  const either = AbortSignal.any([signal, stop.signal]);
  try {
    return await Promise.race([asked, sleep(delay, null, { signal: either })]);
  } finally {
    stop.abort();
  }
}
