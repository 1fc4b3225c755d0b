import { MigrationError } from "../../lib/error.ts";
import {
  askAll,
  type FleetAnswer,
  IpmiError,
  type Observation,
  openClient,
  type Schedule,
  SESSION_DEFAULTS,
  type Timers,
} from "../../lib/ipmi/index.ts";
import type { FindingCode } from "../../model/findings.ts";
import {
  type BmcAt,
  type ConductorIpmitool,
  type PowerProbe,
  type PowerQuestion,
  type PowerReading,
  suiteOrder,
} from "../../model/power.ts";

const WARNINGS: { readonly [observation in Observation]: FindingCode } = {
  "suite-0": "N2I-D620",
  "sha1-only": "N2I-D621",
  "null-users": "N2I-D622",
  "kg-not-given": "N2I-D623",
  updating: "N2I-D624",
  "chassis-fault": "N2I-D625",
  "password-cut": "N2I-D626",
  "wrong-checksums": "N2I-D627",
  "open-session-level": "N2I-D629",
  "suites-not-listed": "N2I-D628",
  "silent-after-list": "N2I-D631",
};

/** Appended to details, in the terms of nova-baremetal. */
const TOO_OLD = ", which nova-baremetal did not use";
const USER = ": correct pm_user";

/** @param conductor the ipmitool release whose choice of cipher suite is used */
export function openNative(
  conductor: ConductorIpmitool,
  bmcAt: BmcAt = () => undefined,
  clock?: Timers,
): { readonly ask: PowerProbe; readonly close: () => Promise<void> } {
  const suites = (listed: readonly number[] | null) => suiteOrder(conductor, listed);
  const asksList = conductor === "1.8.19";
  const client = openClient({ ...SESSION_DEFAULTS, suites, asksList }, clock);
  return {
    async ask(question, limits) {
      const target = { ...question, ...bmcAt(question.address) };
      const answer = await client.ask(target, limits).catch(unable);
      const { startedAt, observations, likely, ...reading } = answer;
      const { verdict, detail } = reading;
      return {
        bm_node_ids: question.bm_node_ids,
        client: "native",
        ...reading,
        address: question.address,
        detail: `${detail}${verdict === "no-ipmi2" ? TOO_OLD : likely === "user" ? USER : ""}`,
        asked_at: startedAt,
        warnings: observations.map((one) => WARNINGS[one]),
        // The caller adds advice, because it depends on the conductor.
        advice: [],
      };
    },
    close: client.close,
  };
}

/** @throws MigrationError N2I-E400 if this host cannot send IPMI at all */
function unable(error: unknown): never {
  if (!(error instanceof IpmiError)) throw error;
  throw new MigrationError("N2I-E400", error.message, { cause: error.cause });
}

/**
 * Repeats failed queries at the end. An abort returns the readings so far. Machines with the same
 * BMC and login share a reading.
 *
 * @param options.failed called for each failure that will be repeated
 * @throws errors of the probe, except those of the abort
 */
export async function* askQuestions(
  questions: AsyncIterable<PowerQuestion>,
  ask: PowerProbe,
  options: {
    readonly signal: AbortSignal;
    readonly schedule?: Partial<Schedule>;
    readonly failed?: (reading: PowerReading) => void;
    readonly clock?: Timers | undefined;
  },
): AsyncGenerator<PowerReading, void> {
  const ofAll = ({ targets, reading }: FleetAnswer<PowerQuestion, PowerReading>) => ({
    ...reading,
    bm_node_ids: targets.flatMap(({ bm_node_ids }) => bm_node_ids),
  });
  const failed = (answer: Parameters<typeof ofAll>[0]) => options.failed?.(ofAll(answer));
  for await (const answer of askAll(questions, { ...options, ask, failed })) yield ofAll(answer);
}
