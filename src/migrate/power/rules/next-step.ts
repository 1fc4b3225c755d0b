import type { FindingCode } from "../../../model/findings.ts";
import {
  type ConductorIpmitool,
  type PowerAdvice,
  type PowerReading,
  suiteOrder,
} from "../../../model/power.ts";
import type { PowerMethod } from "./power-query.ts";

/** A conductor's cipher suite for this BMC. Null if no session had a suite. */
function wanted(
  { verdict, suite, suites }: PowerReading,
  way: PowerMethod | null,
  ipmitool: ConductorIpmitool,
): number | null {
  if (verdict !== "ok" || suite === null) return null;
  const named = way?.way === "ipmi" ? way.login.suite : null;
  return named ?? suiteOrder(ipmitool, suites)[0];
}

/**
 * Settings that a conductor needs on the Ironic node for the reading's result. `power` and `plan`
 * share it.
 * @param way the planned query
 */
export function adviceOf(
  reading: PowerReading,
  way: PowerMethod | null,
  ipmitool: ConductorIpmitool,
): readonly PowerAdvice[] {
  const { suite, privilege, verdict } = reading;
  const first = wanted(reading, way, ipmitool);
  const refused =
    first !== null && suite !== first && suiteUntried(reading, way, ipmitool) === null;
  const silent =
    verdict === "ok" &&
    suite !== null &&
    asksList(way, ipmitool) &&
    reading.warnings.includes("N2I-D631");
  const level = way?.way === "ipmi" ? way.login.level : "ADMINISTRATOR";
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
  way: PowerMethod | null,
  ipmitool: ConductorIpmitool,
): string | null {
  const first = wanted(reading, way, ipmitool);
  const { asked, suite, suites } = reading;
  if (first === null || suite === first || asked === undefined) return null;
  return suiteOrder(asked.ipmitool, suites)[0] === first
    ? null
    : `asked as ipmitool ${asked.ipmitool} does, but the conductor's ${ipmitool} uses suite ${first}, which was not tried`;
}

/** Whether this ipmitool requests the BMC's suites. With a configured suite it does not. */
function asksList(way: PowerMethod | null, ipmitool: ConductorIpmitool): boolean {
  return ipmitool === "1.8.19" && !(way?.way === "ipmi" && way.login.suite !== null);
}

/** Findings that only the request for the list causes. */
const OF_LIST: readonly FindingCode[] = ["N2I-D628", "N2I-D631"];

/** The warnings of a reading that apply to this conductor's ipmitool. */
export function warningsOf(
  { warnings }: PowerReading,
  way: PowerMethod | null,
  ipmitool: ConductorIpmitool,
): readonly FindingCode[] {
  return asksList(way, ipmitool) ? warnings : warnings.filter((code) => !OF_LIST.includes(code));
}

function setting(key: "ipmi_cipher_suite" | "ipmi_priv_level", value: string): PowerAdvice {
  return { key, value, words: `set driver_info.${key} to ${value}` };
}

/** Progress text: `12 ok, 1 unreachable`. @param again failed machines to query once more */
export function live(verdicts: Iterable<readonly [string, number]>, again = 0): string {
  const words = byCount(verdicts).map(([verdict, count]) => `${count} ${verdict}`);
  if (again > 0) words.push(`${again} failed so far`);
  return words.join(", ") || "nothing to ask";
}

/** The most frequent first. */
export function byCount(
  verdicts: Iterable<readonly [string, number]>,
): readonly (readonly [string, number])[] {
  return [...verdicts].toSorted(([, left], [, right]) => right - left);
}
