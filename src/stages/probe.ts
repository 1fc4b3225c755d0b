import { IPMITOOL_DEFAULTS, ipmitoolProbe } from "../edge/ipmitool/probe.ts";
import { openNative } from "../edge/power/ask.ts";
import type { ConductorIpmitool, PowerProbe, PowerReading } from "../model/power.ts";
import { surroundings } from "./surroundings.ts";

export type Client = "native" | "ipmitool" | "both";

interface Probe {
  readonly ask: PowerProbe;
  readonly close: () => Promise<void>;
}

/** Two answers to one question: they agree, or that they do not is the answer. */
function agree(own: PowerReading, theirs: PowerReading): PowerReading {
  if (own.verdict === theirs.verdict && own.power === theirs.power) return own;
  // ipmitool often cannot say why; our own client's reason for the same failure is the better one.
  if (own.verdict !== "ok" && theirs.verdict !== "ok") return own;
  const detail = `native says ${own.power ?? own.verdict} (${own.detail}), ipmitool ${theirs.power ?? theirs.verdict} (${theirs.detail})`;
  // Who was stopped by the deadline, or heard nothing more, contradicts nobody.
  const cut = [own, theirs].some(({ verdict }) => verdict === "deadline" || verdict === "silent");
  return { ...own, power: null, verdict: cut ? "deadline" : "protocol-error", detail };
}

/**
 * How BMCs are asked: by our own client, as the conductor asks, or both, compared.
 *
 * @param conductor the ipmitool whose choice of cipher suite is followed
 */
export function openProbe(client: Client, conductor: ConductorIpmitool): Probe {
  // Ours may be newer than the conductor's, which takes 3 without asking.
  const suite = conductor === "1.8.18" ? 3 : null;
  const ipmitool = ipmitoolProbe({ ...IPMITOOL_DEFAULTS, suite });
  if (client === "ipmitool") return { ask: ipmitool, close: () => Promise.resolve() };
  const native = openNative(conductor, surroundings().bmcAt, surroundings().clock);
  if (client === "native") return native;
  return {
    async ask(question, options) {
      const own = await native.ask(question, options);
      const deadline = options.deadline - own.elapsed;
      // Nothing is left to hear ipmitool fail in.
      if (own.verdict !== "ok" && deadline <= 0) return own;
      return agree(own, await ipmitool(question, { ...options, deadline }));
    },
    close: native.close,
  };
}
