import { hash } from "node:crypto";
import type { BmcReading } from "../lib/ipmi/index.ts";
import type { Json } from "../lib/json.ts";
import type { FindingCode } from "./findings.ts";
import { isSealed } from "./secret.ts";

/**
 * Results for one BMC.
 * - `port-closed`: the host answers that nothing listens on the port.
 * - `silent`: it answered at first. Datagrams may be lost, so nothing was refused.
 * - `deadline`: no lasting result before the deadline, and no known fault.
 * - `incomplete`: address, user or password is missing or unusable, so nothing was sent.
 * - The last five have no power state over IPMI, and never pass silently.
 * `finding` is the consequence for the load. Only `ok` allows it. `means` is for the operator:
 * meaning and action in at most 50 characters.
 * @source facts/ipmi.md 4.4; facts/nova-bm.md 3.2
 */
export const VERDICTS = {
  ok: { finding: null, means: "answered with a conductor's settings" },
  unreachable: { finding: "N2I-D600", means: "no answer: check cable, network, pm_address" },
  "port-closed": { finding: "N2I-D630", means: "port closed: enable IPMI over LAN in the BMC" },
  "no-ipmi2": { finding: "N2I-D602", means: "IPMI 1.5 only: update or replace the BMC" },
  "cipher-refused": { finding: "N2I-D602", means: "neither suite 3 nor 17: enable one in the BMC" },
  "no-slots": { finding: "N2I-D606", means: "all sessions in use: close some, then retry" },
  "wrong-user": { finding: "N2I-D601", means: "unknown user name: correct pm_user" },
  "wrong-password": { finding: "N2I-D601", means: "password rejected: correct pm_password" },
  "wrong-kg": { finding: "N2I-D601", means: "has a second key (Kg): clear it, or set it" },
  "privilege-refused": {
    finding: "N2I-D602",
    means: "user is below OPERATOR: raise it in the BMC",
  },
  busy: { finding: "N2I-D606", means: "always busy: retry later" },
  "protocol-error": { finding: "N2I-D606", means: "invalid responses: see its line" },
  silent: { finding: "N2I-D606", means: "stops responding: lost datagrams, or pm_user" },
  deadline: { finding: "N2I-D606", means: "too slow: retry with a longer --deadline" },
  incomplete: { finding: "N2I-D607", means: "not read: address, user or password unusable" },
  virtual: { finding: "N2I-D605", means: "not read: no ssh settings or no key for its host" },
  iboot: { finding: "N2I-D605", means: "not read: iBoot has no BMC" },
  tilera: { finding: "N2I-D605", means: "not read: Tilera has no BMC" },
  fake: { finding: "N2I-D605", means: "not read: fake power has no BMC" },
  "other-power": { finding: "N2I-D605", means: "not read: unknown power manager" },
} as const satisfies {
  readonly [verdict: string]: { readonly finding: FindingCode | null; readonly means: string };
};

export type PowerVerdict = keyof typeof VERDICTS;

export type PowerLevel = "ADMINISTRATOR" | "OPERATOR";

/**
 * Behavior of the conductor's ipmitool: up to 1.8.18 it uses cipher suite 3, later ones request the
 * BMC's list and use 17 if listed.
 * @source facts/ipmi.md 5.1
 */
export type ConductorIpmitool = "1.8.18" | "1.8.19";

export function ipmitoolOf(version: string | undefined): ConductorIpmitool | undefined {
  if (version === undefined) return undefined;
  const [, ...numbers] = /^(\d+)\.(\d+)\.(\d+)/.exec(version) ?? [];
  const [major = 0, minor = 0, patch = 0] = numbers.map(Number);
  const isNew = major - 1 || minor - 8 || patch - 19;
  return isNew >= 0 ? "1.8.19" : "1.8.18";
}

/** The default of this ipmitool, then the other one. @param listed suites of the BMC, else null */
export function suiteOrder(
  ipmitool: ConductorIpmitool,
  listed: readonly number[] | null,
): readonly [first: number, second: number] {
  return ipmitool === "1.8.19" && listed?.includes(17) === true ? [17, 3] : [3, 17];
}

/** The power check drops keys that a release does not read. */
export interface PowerAdvice {
  /** Key of driver_info. Null for advice about the BMC itself. */
  readonly key: "ipmi_cipher_suite" | "ipmi_priv_level" | "ipmi_hex_kg_key" | null;
  /** Value of `key`. Null if only the operator knows it. */
  readonly value: string | null;
  /** `set driver_info.ipmi_cipher_suite to 3`. */
  readonly words: string;
}

/** A line of power.jsonl. Contains no secret, no key, and no login data. */
export interface PowerReading
  extends Omit<BmcReading, "verdict" | "likely" | "privilege" | "startedAt" | "observations"> {
  /** bm_nodes.id of every machine with this BMC and these credentials. */
  readonly bm_node_ids: readonly number[];
  /** As in driver_info. For a virtual machine, its host. */
  readonly address: string;
  /** The query, so that a plan can detect that it changed. Absent until it is complete. */
  readonly asked?: {
    /** Without secrets: `10.0.0.1 port 623 as "admin" at ADMINISTRATOR`. */
    readonly words: string;
    /** The ipmitool whose cipher suite order was used. */
    readonly ipmitool: ConductorIpmitool;
    /** Digest of words and sealed secrets, for each machine of the reading. */
    readonly machines: readonly string[];
  };
  readonly client: "native" | "virsh" | null;
  readonly verdict: PowerVerdict;
  readonly privilege: PowerLevel | null;
  /** ISO 8601, UTC, at the start, so that a reading never appears too recent. */
  readonly asked_at: string;
  readonly warnings: readonly FindingCode[];
  readonly advice: readonly PowerAdvice[];
}

export type PowerReadings = Pick<ReadonlyMap<number, PowerReading>, "get">;

export type PowerOutcome = Pick<PowerReading, "verdict" | "detail">;

export function blank(
  { bm_node_ids, address }: Pick<PowerReading, "bm_node_ids" | "address">,
  start: { readonly date: Date; readonly client: PowerReading["client"] },
  { verdict, detail }: PowerOutcome,
): PowerReading {
  return {
    ...{ bm_node_ids, address, client: start.client, power: null, verdict, detail },
    ...{ suite: null, suites: null, kg: null, privilege: null },
    ...{ device: null, manufacturer: null, firmware: null, attempts: 0, pass: 1, rtt: null },
    ...{ elapsed: 0, asked_at: start.date.toISOString(), warnings: [], advice: [] },
  };
}

/** Real address of a simulated BMC, else undefined. */
export type BmcAt = (
  address: string,
) => { readonly address: string; readonly port: number } | undefined;

/** A BMC to read. The secrets are functions, so that they are decrypted only on use. */
export interface PowerQuestion extends Pick<PowerReading, "bm_node_ids" | "address"> {
  /** Default 623. nova-baremetal supports no other port. */
  readonly port?: number;
  /** The cipher suite in driver_info, to try only this one. */
  readonly suite?: number;
  /** Default ADMINISTRATOR, unless driver_info has a lower level. */
  readonly level?: PowerLevel;
  readonly user: string;
  readonly password: () => string;
  readonly kg?: () => Uint8Array;
}

/**
 * Reads one BMC. Every failure of the BMC is a reading, not an error.
 * @param deadline maximum milliseconds from now
 * @throws the signal's reason if aborted; MigrationError if this host cannot send requests
 */
export type PowerProbe = (
  question: PowerQuestion,
  options: { readonly deadline: number; readonly signal: AbortSignal },
) => Promise<PowerReading>;

/** Maximum age of a plan's oldest reading in minutes. `apply --power-max-age` overrides it. */
export const POWER_MAX_AGE = 15;

/** Minutes that a reading may be in the future, because clocks differ slightly. */
export const POWER_SKEW = 1;

export interface MachineOf {
  readonly uuid: string | null;
  readonly name: string | null;
  readonly address: string | null;
  /** service_host of its nova-compute. */
  readonly host: string | null;
  readonly instance: string | null;
}

export type MachinesOf = Pick<ReadonlyMap<number, MachineOf>, "get">;

/**
 * Digest of a request with its sealed secrets, to detect a change without the secrets. Sealed
 * secrets differ by machine, so digests of machines are not comparable.
 * @param query the request without secrets
 */
export function queryDigest(query: string, secrets: readonly (Json | undefined)[]): string {
  const values = secrets.map((secret) => (isSealed(secret) ? secret.secret : (secret ?? null)));
  return hash("sha256", JSON.stringify([query, ...values])).slice(0, 16);
}

/**
 * Whether a power error is resolved. Ironic then reads the power and clears the maintenance, but
 * keeps `last_error` until the next operation.
 * @param power_state later value in Ironic
 * @source ironic 21.4: conductor/manager.py handle_sync_power_state_max_retries_exceeded,
 *   conductor/utils.py node_power_action; icehouse and later have the first alike
 */
export function isOldPowerError(last_error: string, power_state: Json | undefined): boolean {
  const isOfBmc =
    /^(?:During sync_power_state,|Failed to (?:change|set|get) (?:the )?power state)/.test(
      last_error,
    );
  return isOfBmc && typeof power_state === "string" && power_state !== "error";
}
