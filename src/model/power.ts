import { hash } from "node:crypto";
import type { Json } from "../lib/json.ts";
import type { FindingCode } from "./findings.ts";
import { isSealed } from "./secret.ts";

/**
 * What came of asking one BMC.
 *
 * `port-closed`: the host is there and says that nothing listens at this port.
 * `silent`: it answers at first, then no more; datagrams may be lost, so nothing is refused.
 * `deadline`: time was over before it said anything that lasts; nothing is known to be wrong with it.
 * `incomplete`: address, user or password is missing or cannot be used, so nothing was sent.
 * The last five are machines whose power IPMI cannot tell: never a silent pass.
 *
 * `finding` is what it means for the load: `ok` alone lets the reading be looked at further. `means` is for
 * whoever reads it at night: what it means, and what to do, in at most 50 characters.
 *
 * @source facts/ipmi.md 4.4; facts/nova-bm.md 3.2
 */
export const VERDICTS = {
  ok: { finding: null, means: "answered as a conductor will ask" },
  unreachable: { finding: "N2I-D600", means: "no answer: look at cable, network, pm_address" },
  "port-closed": { finding: "N2I-D630", means: "port is closed: enable IPMI over LAN there" },
  "no-ipmi2": { finding: "N2I-D602", means: "IPMI 1.5 only: update or replace the BMC" },
  "cipher-refused": { finding: "N2I-D602", means: "neither suite 3 nor 17: enable one in the BMC" },
  "no-slots": { finding: "N2I-D606", means: "all sessions in use: close some, ask again" },
  "wrong-user": { finding: "N2I-D601", means: "user name not known there: correct pm_user" },
  "wrong-password": { finding: "N2I-D601", means: "password refused: correct pm_password" },
  "wrong-kg": { finding: "N2I-D601", means: "has a second key (Kg): clear it, or set it" },
  "privilege-refused": {
    finding: "N2I-D602",
    means: "user is below OPERATOR: raise it in the BMC",
  },
  busy: { finding: "N2I-D606", means: "busy each time: ask again later" },
  "protocol-error": { finding: "N2I-D606", means: "answers what makes no sense: see its line" },
  silent: { finding: "N2I-D606", means: "goes silent midway: lost datagrams, or pm_user" },
  deadline: { finding: "N2I-D606", means: "too slow: ask again with a longer --deadline" },
  incomplete: { finding: "N2I-D607", means: "not asked: address, user or password unusable" },
  virtual: { finding: "N2I-D605", means: "not asked: no ssh settings or no key for its host" },
  iboot: { finding: "N2I-D605", means: "not asked: iBoot has no BMC" },
  tilera: { finding: "N2I-D605", means: "not asked: Tilera has no BMC" },
  fake: { finding: "N2I-D605", means: "not asked: fake power has no BMC" },
  "other-power": { finding: "N2I-D605", means: "not asked: its power manager is not known" },
} as const satisfies {
  readonly [verdict: string]: { readonly finding: FindingCode | null; readonly means: string };
};

export type PowerVerdict = keyof typeof VERDICTS;

export type PowerLevel = "ADMINISTRATOR" | "OPERATOR";

/**
 * Behaviour of the conductor's ipmitool: up to 1.8.18 it takes cipher suite 3, later ones ask the BMC
 * for its list and take 17 where that is in it.
 *
 * @source facts/ipmi.md 5.1
 */
export type ConductorIpmitool = "1.8.18" | "1.8.19";

/** How a version of ipmitool chooses its cipher suite; undefined where none is named. */
export function ipmitoolOf(version: string | undefined): ConductorIpmitool | undefined {
  if (version === undefined) return undefined;
  const [, ...numbers] = /^(\d+)\.(\d+)\.(\d+)/.exec(version) ?? [];
  const [major = 0, minor = 0, patch = 0] = numbers.map(Number);
  const isNew = major - 1 || minor - 8 || patch - 19;
  return isNew >= 0 ? "1.8.19" : "1.8.18";
}

/**
 * The cipher suites to try, the one first that this ipmitool takes of its own accord; the other of 3
 * and 17 is asked for only when the first is refused.
 *
 * @param listed those the BMC lists; null when it does not say
 */
export function suiteOrder(
  ipmitool: ConductorIpmitool,
  listed: readonly number[] | null,
): readonly [first: number, second: number] {
  return ipmitool === "1.8.19" && listed?.includes(17) === true ? [17, 3] : [3, 17];
}

/** What a question was made of, so that a plan can tell whether it is still the right one. */
interface PowerAsked {
  /** Without secrets: `10.0.0.1 port 623 as "admin" at ADMINISTRATOR`. */
  readonly words: string;
  /** The ipmitool whose choice of cipher suite was followed. */
  readonly ipmitool: ConductorIpmitool;
  /** Digest of words and sealed secrets, one for each of the reading's machines. */
  readonly machines: readonly string[];
}

/** Something to set on the Ironic node, or only to know; the gate drops keys a release does not read. */
export interface PowerAdvice {
  /** The key of driver_info it is about; null when it is about the BMC itself. */
  readonly key: "ipmi_cipher_suite" | "ipmi_priv_level" | "ipmi_hex_kg_key" | null;
  /** The value for `key`; null when only the operator knows it. */
  readonly value: string | null;
  /** In words: `set driver_info.ipmi_cipher_suite to 3`. */
  readonly words: string;
}

/** One answer, a line of power.jsonl. Never a secret, a key, or bytes of a login in it. */
export interface PowerReading {
  /** bm_nodes.id of every machine that names this BMC with these credentials. */
  readonly bm_node_ids: readonly number[];
  /** As driver_info would have it; of a virtual machine its host's. */
  readonly address: string;
  /** Absent in readings of versions that did not write it. */
  readonly asked?: PowerAsked;
  readonly client: "native" | "virsh" | null;
  readonly power: "on" | "off" | null;
  readonly verdict: PowerVerdict;
  /** What happened, one clause without secrets: `RAKP 2 says 0x0d: unknown user name`. */
  readonly detail: string;
  /** The cipher suite the session was opened with. */
  readonly suite: number | null;
  /** The suites the BMC lists; null when it does not say. */
  readonly suites: readonly number[] | null;
  /** Whether the BMC says that a Kg is set. */
  readonly kg: boolean | null;
  readonly privilege: PowerLevel | null;
  /** Product number. */
  readonly device: number | null;
  /** IANA enterprise number. */
  readonly manufacturer: number | null;
  /** `9.08` */
  readonly firmware: string | null;
  /** Logins begun, of both passes. */
  readonly attempts: number;
  /** 2 when the BMC was asked again after all others. */
  readonly pass: 1 | 2;
  /** Milliseconds of the fastest exchange that needed no second sending. */
  readonly rtt: number | null;
  /** Milliseconds from the first datagram to the verdict. */
  readonly elapsed: number;
  /** ISO 8601, UTC: when asking began, so that a reading looks rather older than it is. */
  readonly asked_at: string;
  readonly warnings: readonly FindingCode[];
  readonly advice: readonly PowerAdvice[];
}

/** Readings by bm_nodes.id. */
export type KnownReadings = Pick<ReadonlyMap<number, PowerReading>, "get">;

/** What came of asking, in a word and in one clause without secrets. */
export type PowerOutcome = Pick<PowerReading, "verdict" | "detail">;

/** A reading of a BMC of which nothing is known but the verdict. */
export function unasked(
  { bm_node_ids, address }: Pick<PowerQuestion, "bm_node_ids" | "address">,
  begun: { readonly date: Date; readonly client: PowerReading["client"] },
  { verdict, detail }: PowerOutcome,
): PowerReading {
  return {
    bm_node_ids,
    address,
    client: begun.client,
    power: null,
    verdict,
    detail,
    suite: null,
    suites: null,
    kg: null,
    privilege: null,
    device: null,
    manufacturer: null,
    firmware: null,
    attempts: 0,
    pass: 1,
    rtt: null,
    elapsed: 0,
    asked_at: begun.date.toISOString(),
    warnings: [],
    advice: [],
  };
}

/** Where a simulated BMC of this address is; undefined for an address that is its own. */
export type BmcAt = (
  address: string,
) => { readonly address: string; readonly port: number } | undefined;

/** A BMC to ask. The secrets are functions, so that they are opened when they are needed. */
export interface PowerQuestion {
  readonly bm_node_ids: readonly number[];
  /** An IPv4 or IPv6 address, or a host name. */
  readonly address: string;
  /** 623 unless given; nova-baremetal knows no other. */
  readonly port?: number;
  /** The only cipher suite to ask for, where driver_info names one. */
  readonly suite?: number;
  /** ADMINISTRATOR unless driver_info names a lower one. */
  readonly level?: PowerLevel;
  readonly user: string;
  readonly password: () => string;
  /** The BMC's second key, when somebody gave one. */
  readonly kg?: () => Uint8Array;
}

/**
 * Asks one BMC. Everything about the BMC is a reading, not an error.
 *
 * @param deadline milliseconds from now until the verdict, at most
 * @throws the signal's reason when it is aborted; MigrationError when this host cannot ask at all
 */
export type PowerProbe = (
  question: PowerQuestion,
  options: { readonly deadline: number; readonly signal: AbortSignal },
) => Promise<PowerReading>;

/** Minutes a plan's oldest reading may have, unless `apply --power-max-age` says otherwise. */
export const POWER_MAX_AGE = 15;

/** Minutes a reading may be ahead of the clock: a clock that is a little behind another's is usual. */
export const POWER_AHEAD = 1;

/** What people know a machine by. */
export interface MachineOf {
  readonly uuid: string | null;
  /** Of its instance, as Nova shows it. */
  readonly name: string | null;
  /** Of its BMC. */
  readonly address: string | null;
  /** service_host of its nova-compute. */
  readonly host: string | null;
  readonly instance: string | null;
}

/** Machines by bm_nodes.id. */
export type MachinesOf = Pick<ReadonlyMap<number, MachineOf>, "get">;

/**
 * Tells two questions apart without telling their secrets: equal only where everything is the same,
 * sealed passwords too. A sealed secret is bound to its machine, so machines cannot be compared by it.
 *
 * @param words what is asked, without secrets
 */
export function askedDigest(words: string, secrets: readonly (Json | undefined)[]): string {
  const known = secrets.map((secret) => (isSealed(secret) ? secret.secret : (secret ?? null)));
  const text = JSON.stringify([words, ...known]);
  return hash("sha256", text).slice(0, 16);
}

/**
 * How Ironic begins what it writes to `last_error` of a machine whose BMC did not answer or obey.
 *
 * @source ironic 21.4: conductor/manager.py handle_sync_power_state_max_retries_exceeded,
 *   conductor/utils.py node_power_action; icehouse and later have the first alike
 */
const POWER = /^(?:During sync_power_state,|Failed to (?:change|set|get) (?:the )?power state)/;

/**
 * Whether an error is of the power and over: Ironic reads the power again and clears the maintenance,
 * and leaves `last_error` as it was until somebody works with the machine.
 *
 * @param power_state what Ironic has recorded since
 */
export function isOldPowerError(last_error: string, power_state: Json | undefined): boolean {
  return POWER.test(last_error) && typeof power_state === "string" && power_state !== "error";
}
