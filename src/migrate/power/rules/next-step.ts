import type { FindingCode } from "../../../model/findings.ts";
import {
  type ConductorIpmitool,
  type PowerAdvice,
  type PowerReading,
  suiteOrder,
} from "../../../model/power.ts";
import type { PowerMethod } from "./power-query.ts";

/** A conductor's cipher suite for this BMC. Null if no session had a suite. */
function conductorSuite(
  { verdict, suite, suites }: PowerReading,
  method: PowerMethod | null,
  ipmitool: ConductorIpmitool,
): number | null {
  if (verdict !== "ok" || suite === null) return null;
  const configured = method?.kind === "ipmi" ? method.login.suite : null;
  return configured ?? suiteOrder(ipmitool, suites)[0];
}

/**
 * Settings that a conductor needs on the Ironic node for the reading's result. `power` and `plan`
 * share it.
 * @param method the planned query
 */
export function adviceOf(
  reading: PowerReading,
  method: PowerMethod | null,
  ipmitool: ConductorIpmitool,
): readonly PowerAdvice[] {
  const { suite, privilege, verdict } = reading;
  const first = conductorSuite(reading, method, ipmitool);
  const refused =
    first !== null && suite !== first && suiteUntried(reading, method, ipmitool) === null;
  const silent =
    verdict === "ok" &&
    suite !== null &&
    asksList(method, ipmitool) &&
    reading.warnings.includes("N2I-D631");
  const level = method?.kind === "ipmi" ? method.login.level : "ADMINISTRATOR";
  return [
    ...(refused || silent ? [setting("ipmi_cipher_suite", String(suite))] : []),
    ...(verdict === "ok" && privilege === "OPERATOR" && level !== "OPERATOR"
      ? [setting("ipmi_priv_level", "OPERATOR")]
      : []),
    ...(verdict === "wrong-kg"
      ? [
          {
            ...{ key: "ipmi_hex_kg_key" as const, value: null },
            words: "set driver_info.ipmi_hex_kg_key to the BMC's Kg, or clear the Kg in the BMC",
          },
        ]
      : []),
  ];
}

/** The reason why a session of the conductor's ipmitool is untested. Null if it is tested. */
export function suiteUntried(
  reading: PowerReading,
  method: PowerMethod | null,
  ipmitool: ConductorIpmitool,
): string | null {
  const first = conductorSuite(reading, method, ipmitool);
  const { asked, suite, suites } = reading;
  if (first === null || suite === first || asked === undefined) return null;
  return suiteOrder(asked.ipmitool, suites)[0] === first
    ? null
    : `asked as ipmitool ${asked.ipmitool} does, but the conductor's ${ipmitool} uses suite ${first}, which was not tried`;
}

/** Whether this ipmitool requests the BMC's suites. With a configured suite it does not. */
function asksList(method: PowerMethod | null, ipmitool: ConductorIpmitool): boolean {
  return ipmitool === "1.8.19" && !(method?.kind === "ipmi" && method.login.suite !== null);
}

/** Findings that only the request for the list causes. */
const OF_LIST: readonly FindingCode[] = ["N2I-D628", "N2I-D631"];

/** The warnings of a reading that apply to this conductor's ipmitool. */
export function warningsOf(
  { warnings }: PowerReading,
  method: PowerMethod | null,
  ipmitool: ConductorIpmitool,
): readonly FindingCode[] {
  return asksList(method, ipmitool) ? warnings : warnings.filter((code) => !OF_LIST.includes(code));
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
