import type { PowerOutcome, PowerVerdict } from "../../model/power.ts";
import type { Run } from "../process/run.ts";

/** Its texts, the telling ones first. @source ipmitool 1.8.19 src/plugins/lanplus; facts/ipmi.md 5.1 */
const TEXTS: readonly (readonly [RegExp, PowerVerdict])[] = [
  [/insufficient resources for session/i, "no-slots"],
  // Lost datagrams, or a BMC that does not answer a name it does not know.
  [/no response from RAKP \d message/i, "silent"],
  [/no matching cipher suite|Unsupported cipher suite ID|invalid \w+ algorithm/i, "cipher-refused"],
  [/unauthorized name|invalid name length|Username is too long/i, "wrong-user"],
  [/RAKP 2 HMAC is invalid|invalid integrity check value/i, "wrong-password"],
  [
    /invalid role|unauthorized role|Set Session Privilege Level to \w+ failed/i,
    "privilege-refused",
  ],
  [/Node busy|Out of space|BMC initialization in progress|failed: Timeout/i, "busy"],
  [/Address lookup for .* failed|Could not open socket/i, "unreachable"],
  [/Get Chassis Power Status failed|Unable to get Chassis Power Status/i, "protocol-error"],
];

/** With -N 5 and -R 1 a BMC that never answers takes ten seconds. Milliseconds. */
const SILENCE = 9500;

/** `on`, `off`, or why not. Its words are exact: the conductor takes no others. */
export function readRun(
  run: Pick<Run, "status" | "stdout" | "stderr" | "took">,
): { readonly power: "on" | "off" } | PowerOutcome {
  if (run.stdout === "Chassis Power is on\n") return { power: "on" };
  if (run.stdout === "Chassis Power is off\n") return { power: "off" };
  // Not `unreachable`, however short the deadline: a BMC that ignores the question for its suites
  // answers after five seconds, so that before ten nobody knows whether one is silent.
  if (run.status === null)
    return {
      verdict: "deadline",
      detail: "ipmitool had no answer when time was over; of a silent BMC it says so after 10 s",
    };
  for (const [pattern, verdict] of TEXTS) {
    const [words] = pattern.exec(run.stderr) ?? [];
    if (words !== undefined) return { verdict, detail: `ipmitool says: ${words}` };
  }
  if (!/Unable to establish/.test(run.stderr))
    return { verdict: "protocol-error", detail: `ipmitool ends with ${run.status}, unexplained` };
  return run.took >= SILENCE
    ? { verdict: "unreachable", detail: "ipmitool got no answer" }
    : { verdict: "no-session", detail: "ipmitool opens no session and does not say why" };
}

/** Failures the conductor tries again within its time, of those that may pass. */
export function mayPass({ verdict }: PowerOutcome): boolean {
  return verdict === "no-slots" || verdict === "busy" || verdict === "silent";
}
