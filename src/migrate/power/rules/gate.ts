import { type Finding, type FindingCode, finding, findingIf } from "../../../model/findings.ts";
import type { Machine } from "../../../model/machine.ts";
import {
  type ConductorIpmitool,
  type PowerAdvice,
  type PowerReading,
  type PowerReadings,
  type PowerVerdict,
  suiteOrder,
  VERDICTS,
} from "../../../model/power.ts";
import type { PowerMethod } from "../../transform/power-query.ts";

/** The readings for a plan, with the operator's options. */
export interface PowerView {
  readonly readings: PowerReadings;
  /** The reason why machines with a silent BMC are loaded. Null: they are not. */
  readonly unreachable: string | null;
  /** Write the measured state to power_state. */
  readonly record: boolean;
}

/** Findings for a virtual machine, read from its host. D600 to D606 are for BMCs. */
const MEANS_OF_HOST: { readonly [verdict in PowerVerdict]?: FindingCode } = {
  unreachable: "N2I-D608",
  "wrong-password": "N2I-D609",
  "protocol-error": "N2I-D610",
};

/** nova.instances.power_state: 1 running, 4 shut down. Other values are not compared. */
const RECORDED: { readonly [power_state: number]: "on" | "off" } = { 1: "on", 4: "off" };

/**
 * The conflict between Nova and the measured power. Null: none. Nova powers off a stopped instance
 * that runs, even if its power_state matches.
 * @source facts/nova-bm.md 2.5
 */
function contradiction({ nova }: Machine, power: "on" | "off"): string | null {
  const instance = nova?.instance ?? null;
  if (instance === null || instance.deleted) return null;
  const expected = RECORDED[instance.power_state ?? 0] ?? power;
  const will =
    power === "on" && instance.vm_state === "stopped"
      ? "instances.vm_state is stopped: Nova would power it off"
      : null;
  const differs = expected === power ? null : `nova recorded ${expected}`;
  return [differs, will].filter((text) => text !== null).join("; ") || null;
}

/** The driver_info keys and the ipmitool of a target's conductor. */
export interface ConductorTraits {
  /** driver_info keys of the release that not every release has. */
  readonly keys: readonly string[];
  readonly ipmitool: ConductorIpmitool;
}

/**
 * Findings of a machine's reading. There are none only if the BMC answered the conductor's query
 * and the state matches Nova.
 * @param method the planned query of a conductor. Null if nothing would be loaded
 * @source facts/ipmi.md 4.4, 5.1, 5.5; facts/ironic.md 0.1
 */
export function gate(
  machine: Machine,
  reading: PowerReading | undefined,
  method: PowerMethod | null,
  conductor: ConductorTraits,
  { unreachable }: PowerView,
): readonly Finding[] {
  if (machine.node.deleted === true) return [];
  const where = `bm_nodes.id=${machine.node.id} pm_address`;
  if (reading === undefined)
    return [finding("N2I-D604", where, "power.jsonl has no reading of it")];
  const stale = method === null ? null : queryChange(machine.node.id, reading, method);
  if (stale !== null) return [finding("N2I-D612", where, stale)];
  const { verdict, detail, power, client } = reading;
  const { advice, untried, warnings } = meaningOf(reading, method, conductor.ipmitool);
  const observed = warnings.map((code) => finding(code, where, `BMC ${reading.address}`));
  const code =
    (client === "virsh" ? MEANS_OF_HOST[verdict] : undefined) ?? VERDICTS[verdict].finding;
  if (code !== null) {
    const found = finding(code, where, `${verdict}: ${detail}`);
    const allowed = verdict === "unreachable" && unreachable !== null;
    return [allowed ? { ...found, accepted: unreachable } : found, ...observed];
  }
  const other = [
    ...findingIf(untried !== null, "N2I-D612", where, untried ?? ""),
    ...advice.map(({ key, words: text }) => {
      const isRead = key === null || conductor.keys.includes(key);
      const unread = `cannot ${text}: this release does not read it. Change the BMC, or accept the finding`;
      return finding("N2I-D602", where, isRead ? text : unread);
    }),
  ];
  const recorded = power === null ? null : contradiction(machine, power);
  const from = client === "virsh" ? reading.address : "BMC";
  const difference = `${from} reports ${power}, ${recorded}`;
  return [...other, ...findingIf(recorded !== null, "N2I-D603", where, difference), ...observed];
}

/** Whether a reading has this query. */
export function isAbout(
  reading: PowerReading | undefined,
  id: number,
  method: PowerMethod,
): boolean {
  return reading?.asked?.machines[reading.bm_node_ids.indexOf(id)] === method.digest;
}

/** The reason why a reading does not apply: another address or other credentials. */
function queryChange(id: number, reading: PowerReading, method: PowerMethod): string | null {
  const { asked } = reading;
  if (isAbout(reading, id, method)) return null;
  if (asked === undefined) return "the reading has no settings";
  return asked.words === method.query
    ? "asked with a password, Kg or MAC other than the one to be loaded"
    : `asked ${asked.words}, but ${method.query} would be loaded`;
}

/** Findings that only the request for the list causes. */
const OF_LIST: readonly FindingCode[] = ["N2I-D628", "N2I-D631"];

/**
 * The meaning of a reading for a conductor's ipmitool. `power` and `plan` share it.
 * @param method the planned query
 */
export function meaningOf(
  reading: PowerReading,
  method: PowerMethod | null,
  ipmitool: ConductorIpmitool,
) {
  const { verdict, suite, suites, privilege, asked } = reading;
  const login = method?.kind === "ipmi" ? method.login : null;
  const isOpen = verdict === "ok" && suite !== null;
  // With a configured suite, ipmitool does not request the BMC's suites.
  const asksList = ipmitool === "1.8.19" && (login?.suite ?? null) === null;
  const first = isOpen ? (login?.suite ?? suiteOrder(ipmitool, suites)[0]) : suite;
  const untried =
    first === suite || asked === undefined || suiteOrder(asked.ipmitool, suites)[0] === first
      ? null
      : `asked as ipmitool ${asked.ipmitool} does, but the conductor's ${ipmitool} uses suite ${first}, which was not tried`;
  const refused = first !== suite && untried === null;
  const silent = isOpen && asksList && reading.warnings.includes("N2I-D631");
  const advice: PowerAdvice[] = [];
  if (refused || silent) advice.push(setting("ipmi_cipher_suite", String(suite)));
  if (verdict === "ok" && privilege === "OPERATOR" && login?.level !== "OPERATOR")
    advice.push(setting("ipmi_priv_level", "OPERATOR"));
  if (verdict === "wrong-kg")
    advice.push({
      ...{ key: "ipmi_hex_kg_key", value: null },
      words: "set driver_info.ipmi_hex_kg_key to the BMC's Kg, or clear the Kg in the BMC",
    });
  return {
    /** Settings that the conductor needs on the Ironic node. */
    advice,
    /** The reason why a session of the conductor's ipmitool is untested. Null if it is tested. */
    untried,
    warnings: asksList
      ? reading.warnings
      : reading.warnings.filter((code) => !OF_LIST.includes(code)),
  };
}

function setting(key: "ipmi_cipher_suite" | "ipmi_priv_level", value: string): PowerAdvice {
  return { key, value, words: `set driver_info.${key} to ${value}` };
}

/** Progress text: `12 ok, 1 unreachable`. @param again failed machines to query once more */
export function live(verdicts: Iterable<readonly [string, number]>, again = 0): string {
  const counts = byCount(verdicts).map(([verdict, count]) => `${count} ${verdict}`);
  if (again > 0) counts.push(`${again} failed so far`);
  return counts.join(", ") || "nothing to ask";
}

/** The most frequent first. */
export function byCount(
  verdicts: Iterable<readonly [string, number]>,
): readonly (readonly [string, number])[] {
  return [...verdicts].toSorted(([, left], [, right]) => right - left);
}
